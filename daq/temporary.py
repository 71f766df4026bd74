"""Temporary folders that say whose they are, so that those of killed processes can be told and removed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["abandoned_folders", "alive", "temporary_folder"]

_NAME = re.compile(r"heft-(\d+)-\w+")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, removed on exit; those that killed processes have left are removed, too."""
    for abandoned in abandoned_folders():
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"heft-{os.getpid()}-") as folder:
        yield Path(folder)


def abandoned_folders() -> tuple[Path, ...]:
    """This user's temporary folders whose processes have gone."""
    found = []
    for path in sorted(Path(tempfile.gettempdir()).glob("heft-*-*")):
        match = _NAME.fullmatch(path.name)
        try:
            own = path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.geteuid()
        except OSError:  # gone meanwhile
            continue
        if match is not None and own and not alive(int(match[1])):
            found.append(path)
    return tuple(found)


def alive(pid: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
