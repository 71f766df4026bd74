"""The log of this user's commands: one file that several processes write to, of bounded size, without secrets.

    $XDG_STATE_HOME/heft/heft.log      without that variable: ~/.local/state/heft/heft.log; mode 0600
    $XDG_STATE_HOME/heft/heft.log.1    the one before, and so on

Where it cannot be written, commands do without it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["LogFile", "log_path", "logged", "without_secrets"]

#: Largest size of a file [bytes], and how many of those before are kept.
MOST_BYTES = 1 << 20
KEPT = 3
#: A longer line is cut.
MOST_CHARACTERS = 16_000

_SECRETS = (
    (re.compile(r"(\w[\w+.-]*://)[^/\s@]+@"), r"\1***@"),  # user and password of an address
    (
        re.compile(
            r"(?i)(\b\w*(?:password|passwd|secret|token|private_key|secret_key)\w*[\"']?\s*[=:]\s*)\S+"
        ),
        r"\1***",
    ),
    (re.compile(r"-----BEGIN [\s\S]*?(?:-----END [^-]*-----|$)"), "***"),
)


def log_path() -> Path:
    """Where the log is."""
    given = os.environ.get("XDG_STATE_HOME", "")
    state = Path(given) if given.startswith("/") else Path("~/.local/state").expanduser()
    return state / "heft" / "heft.log"


def without_secrets(text: str) -> str:
    """The same text with passwords, tokens and keys left out."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


class LogFile(logging.Handler):
    """Appends a line per record; at `most_bytes` the file becomes NAME.1, and the oldest goes."""

    def __init__(self, path: Path, *, most_bytes: int = MOST_BYTES, kept: int = KEPT) -> None:
        super().__init__(logging.INFO)
        self._path, self._most_bytes, self._kept = path, most_bytes, kept
        self.setFormatter(logging.Formatter("%(asctime)sZ %(process)d %(name)s %(levelname)s %(message)s"))
        assert self.formatter is not None
        self.formatter.converter = time.gmtime

    def emit(self, record: logging.LogRecord) -> None:
        """One line, whole; a disk that is full or a folder that may not be written costs the line alone."""
        with suppress(OSError, ValueError, TypeError):
            text = without_secrets(self.format(record))[:MOST_CHARACTERS].replace("\n", "\n  ") + "\n"
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._append(text.encode("utf-8", errors="replace"))
            finally:
                os.close(lock)

    def _append(self, data: bytes) -> None:
        with suppress(FileNotFoundError):
            if self._path.stat().st_size + len(data) > self._most_bytes:
                self._rotate()
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def _rotate(self) -> None:
        names = [self._path, *(self._path.with_name(f"{self._path.name}.{i + 1}") for i in range(self._kept))]
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            with suppress(FileNotFoundError):
                newer.replace(older)


class _Terminal(logging.Handler):
    """Warnings on standard error as without a log file, unless the command has a handler of its own for them."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers and logging.lastResort is not None:
            logging.lastResort.handle(record)


@contextmanager
def logged() -> Iterator[logging.Logger]:
    """Inside, what the program logs goes to the file; its own logger."""
    logger = logging.getLogger("heft")
    handlers = [LogFile(log_path()), _Terminal(logging.WARNING)]
    level = logger.level
    logger.setLevel(logging.INFO)
    for handler in handlers:
        logger.addHandler(handler)
    try:
        yield logger
    finally:
        for handler in handlers:
            logger.removeHandler(handler)
        logger.setLevel(level)
