"""What killed sessions have left behind: found, told and cleaned."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heft.daq.bus.runtime import stale_folders
from heft.daq.recording.recovered import recover
from heft.daq.temporary import abandoned_folders
from heft.drivers.errors import HeftError
from heft.output_folder import WORKSPACE_PREFIX, in_use

__all__ = ["Leftover", "leftovers"]

#: So deep below a folder recordings are looked for: `sessions/<UTC time>-<session>/NAME.mcap.partial`, and one more.
DEPTH = 3


@dataclass(frozen=True)
class Leftover:
    """One thing that is left: `what` it is, where, and what `clean` would do with it (`remedy`)."""

    what: str
    path: Path
    remedy: str
    clean: Callable[[], str]

    def to_dict(self) -> dict[str, str]:
        """As plain JSON values."""
        return {"what": self.what, "path": str(self.path), "remedy": self.remedy}


def leftovers(folders: Sequence[Path]) -> Iterator[Leftover]:
    """Sockets' folders and temporary folders of processes that have gone; in `folders`, recordings and work of theirs.

    Nothing that a living program uses is among them.
    """
    for path in stale_folders():
        yield _folder("sockets of a session that was killed", path)
    for path in abandoned_folders():
        yield _folder("temporary folder of a process that was killed", path)
    seen = set()
    for folder in folders:
        for path in _below(folder):
            if path.resolve() in seen:
                continue
            seen.add(path.resolve())
            if path.is_dir() and path.name.startswith(WORKSPACE_PREFIX):
                if not in_use(path) and not in_use(path.parent):
                    yield _folder("work of a worker whose session was killed", path)
            elif path.name.endswith(".mcap.partial") and not in_use(path.parent):
                yield Leftover(
                    "recording that was cut off", path, "written once more as a whole file", _recovery(path)
                )


def _below(folder: Path) -> Iterator[Path]:
    for depth in range(1, DEPTH + 1):
        yield from sorted(folder.glob("/".join(["*"] * depth)))


def _folder(what: str, path: Path) -> Leftover:
    def clean() -> str:
        shutil.rmtree(path, ignore_errors=True)
        return f"{path}: could not be removed" if path.exists() else ""

    return Leftover(what, path, "removed", clean)


def _recovery(path: Path) -> Callable[[], str]:
    def clean() -> str:
        try:
            recover(path)
        except HeftError as exc:
            return str(exc)
        return ""

    return clean
