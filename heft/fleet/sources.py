"""Recordings of a fleet, or triangles that were kept of them: on this machine's disks, or in an object store."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from heft.daq.errors import ConfigError, RecordingError
from heft.daq.temporary import temporary_folder
from heft.daq.whole_file import write_whole

__all__ = ["REDUCED", "Source", "digest_of", "fetched", "find_sources", "needs", "write_beside"]

ENDING = ".mcap"
#: What the file of a recording's triangles is called beside it (`heft.identify.fleet.triangles`).
REDUCED = ".triangles.npz"


@dataclass(frozen=True)
class Source:
    """One recording, or its triangles.

    place     its path, or its address in an object store (`s3://bucket/key`)
    session   its name in the fleet: the path below what all recordings have in common, without its ending
    mark      changes with the file: its size and the time or tag that its store keeps
    load      numbers of the known load on the flange (`KnownLoad.from_numbers`); none: none is known
    """

    place: str
    session: str
    mark: str
    load: tuple[float, ...] = ()

    @property
    def remote(self) -> bool:
        """Whether it is in an object store."""
        return "://" in self.place

    @property
    def reduced(self) -> bool:
        """Whether it is the triangles of a recording."""
        return self.place.endswith(REDUCED)

    @property
    def name(self) -> str:
        """Of the file alone."""
        return PurePosixPath(self.place).name


def needs(package: str) -> ConfigError:
    """The error where a package of the fleet's extra is missing."""
    return ConfigError(f"{package} is not installed, and fleets need it; install heft[fleet]")


def find_sources(patterns: Sequence[str]) -> list[Source]:
    """All recordings that the patterns name, in order; `ConfigError` where there is none."""
    found: dict[str, str] = {}
    for pattern in patterns:
        matches = _remote(pattern) if "://" in pattern else _local(pattern)
        if not matches:
            raise ConfigError(
                f"{pattern}: no recording there; give a path, a pattern in quotes, or an address"
            )
        found |= matches
    places = sorted(found)
    plain = [place.partition("://")[2] if "://" in place else place for place in places]
    folders = [os.path.dirname(one) or "." for one in plain]
    root = os.path.commonpath(folders) if len({"://" in place for place in places}) == 1 else ""
    sources = []
    for place, one in zip(places, plain, strict=True):
        session = os.path.relpath(one, root) if root else one.lstrip("/")
        sources.append(Source(place, session.removesuffix(ENDING).removesuffix(REDUCED), found[place]))
    if len({source.reduced for source in sources}) > 1:
        raise ConfigError(
            f"both recordings (*{ENDING}) and triangles (*{REDUCED}) are named; an estimate is of the one or the other"
        )
    return sources


def _local(pattern: str) -> dict[str, str]:
    """Places and marks of local files."""
    if Path(pattern).is_dir():
        pattern = f"{glob.escape(pattern)}/**/*{ENDING}"
    names = [pattern] if Path(pattern).is_file() else glob.glob(pattern, recursive=True)
    marks = {}
    for name in names:
        path = Path(name)
        if path.is_file():
            facts = path.stat()
            marks[str(path.absolute())] = f"{facts.st_size}:{facts.st_mtime_ns}"
    return marks


def file_system(place: str) -> tuple[Any, str]:
    """The store of an address, and the address inside it; `ConfigError` where it cannot be reached."""
    try:
        import fsspec
    except ImportError as exc:
        raise needs("fsspec") from exc
    try:
        return fsspec.core.url_to_fs(place)  # type: ignore[no-any-return]
    except (ImportError, ValueError) as exc:
        raise ConfigError(f"{place}: {exc}; give a path, or an address as s3://bucket/recordings/**") from exc


def _remote(pattern: str) -> dict[str, str]:
    """Places and marks of files in an object store."""
    store, inside = file_system(pattern)
    protocol = pattern.partition("://")[0]
    if not inside.endswith((ENDING, REDUCED)) and "*" not in inside:
        inside = f"{inside.rstrip('/')}/**/*{ENDING}"
    try:
        listed: dict[str, dict[str, Any]] = store.glob(inside, detail=True)
    except Exception as exc:  # every store has errors of its own
        raise ConfigError(
            f"{pattern}: cannot be listed: {exc}; check the address and the credentials"
        ) from exc
    return {
        f"{protocol}://{name}": f"{facts.get('size')}:{facts.get('ETag') or facts.get('LastModified') or ''}"
        for name, facts in listed.items()
        if facts.get("type", "file") == "file"
    }


@contextmanager
def fetched(source: Source) -> Iterator[Path]:
    """The recording as a local file; one of an object store is copied for as long as this lasts."""
    if not source.remote:
        yield Path(source.place)
        return
    store, inside = file_system(source.place)
    with temporary_folder() as folder:
        path = folder / source.name
        try:
            store.get_file(inside, str(path))
        except Exception as exc:  # every store has errors of its own
            raise RecordingError(f"{source.place}: cannot be fetched: {exc}; try again") from exc
        yield path


def digest_of(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise RecordingError(f"{path}: cannot be read: {exc.strerror}; check the path") from exc


def write_beside(source: Source, suffix: str, data: bytes) -> str | None:
    """Write a file beside a recording, named like it; its place, or None where nothing may be written there."""
    place = source.place.removesuffix(ENDING) + suffix
    try:
        if not source.remote:
            write_whole(Path(place), data)
            return place
        store, inside = file_system(place)
        store.pipe_file(inside, data)
        return place
    except OSError:  # read-only: fsspec's stores raise PermissionError, too
        return None
