"""The folder that a run writes into."""

from __future__ import annotations

import errno
import fcntl
import glob
import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from heft.daq.errors import ConfigError

__all__ = ["WORKSPACE_PREFIX", "OutputFolder", "in_use", "recording_names", "shared_use"]

#: How the folders that a run makes inside its own for a while begin.
WORKSPACE_PREFIX = ".heft-"


class OutputFolder:
    """One run's own while inside `with`: locked, so that a second run is refused and touches nothing.

    The lock is on the folder itself, and gone with the process. Nothing that was there before is changed; a folder that
    was made here and is still empty at the end is removed again.

    reserved   patterns of names that the run will write; ConfigError where one is there already
    """

    def __init__(self, path: Path, reserved: Sequence[str]) -> None:
        self.path = path
        self._new = False
        self._reserved = reserved
        self._made: list[Path] = []
        self._descriptor: int | None = None

    @classmethod
    def given_or_new(
        cls,
        path: Path | None,
        name: str,
        reserved: Sequence[str] = (),
        *,
        root: Path = Path("sessions"),
    ) -> Self:
        """The operator's folder; else a new one, `ROOT/<UTC time>-<name>`, with a number where that is taken."""
        folder = cls(path or root / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{name}", reserved)
        folder._new = path is None
        return folder

    def check(self) -> None:
        """`ConfigError` where a run may not write into it."""
        if self._new:
            return
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(f"--out {self.path}: a file; give a folder")
        for pattern in self._reserved:
            for found in sorted(self.path.glob(pattern)):
                raise ConfigError(
                    f"--out {self.path}: {found.name} exists; move it away, or give another folder"
                )

    def __enter__(self) -> Self:
        self.check()
        try:
            self._make()
            self._lock()
            self.check()  # what another has written before it let go
        except OSError as exc:
            self.release()
            raise ConfigError(
                f"--out {self.path}: cannot be written: {exc.strerror}; choose another folder"
            ) from exc
        except ConfigError:
            self.release()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others in; also from a signal handler, and more than once."""
        for folder in self._made:
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        self._made = []
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def workspace(self) -> Path:
        """A new folder inside, for whoever makes it to remove."""
        return Path(tempfile.mkdtemp(prefix=WORKSPACE_PREFIX, dir=self.path))

    def _make(self) -> None:
        missing = [folder for folder in self.path.parents if not folder.exists()]
        for folder in reversed(missing):
            with suppress(FileExistsError):
                folder.mkdir()
                self._made.insert(0, folder)
        taken = self.path.name
        for number in itertools.count(2):
            try:
                self.path.mkdir()
                self._made.insert(0, self.path)
                break
            except FileExistsError:
                if not self._new:
                    break
                self.path = self.path.with_name(f"{taken}-{number}")
        with tempfile.TemporaryFile(dir=self.path):  # or nothing can be written
            pass

    def _lock(self) -> None:
        self._descriptor = _locked(self.path, fcntl.LOCK_EX)
        if self._descriptor is None:
            raise ConfigError(
                f"--out {self.path}: another program is writing into it; wait for its end, or give another folder"
            )


@contextmanager
def shared_use(folder: Path) -> Iterator[None]:
    """While inside, the folder is in use; several programs may use it so at a time, and no run writes into it."""
    descriptor = _locked(folder, fcntl.LOCK_SH)
    if descriptor is None:
        raise ConfigError(f"--out {folder}: a run is writing into it; give another folder")
    try:
        yield
    finally:
        os.close(descriptor)


def in_use(folder: Path) -> bool:
    """Whether a program that lives has it as its own."""
    descriptor = _locked(folder, fcntl.LOCK_EX)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def _locked(folder: Path, how: int) -> int | None:
    """The folder, open and locked; None where another has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as exc:
        if exc.errno not in (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL):
            os.close(descriptor)
            raise
        # Some file systems of a network cannot lock a folder: there the names of the files alone must do.
    return descriptor


def recording_names(name: str) -> list[str]:
    """Patterns of the names of a session's recording, whole and being written."""
    return [f"{glob.escape(name)}.mcap", f"{glob.escape(name)}.mcap.partial"]
