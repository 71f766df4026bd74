"""Where a fleet's results are: a folder of this machine, or one of an object store through fsspec. Files by name."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from heft.daq.errors import ConfigError
from heft.daq.whole_file import write_whole
from heft.fleet.sources import file_system
from heft.options import prepared
from heft.output_folder import shared_use

__all__ = ["FolderResults", "Results", "StoreResults", "results_at"]


class Results(ABC):
    """Files of a run by their names below its folder (`arm0/night2/result.json`)."""

    @abstractmethod
    def place(self, name: str = "") -> str:
        """Path or address of a file; without a name, of the folder."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """A file's bytes; None where there is none."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is such a file; nothing of it is read."""

    @abstractmethod
    def write(self, name: str, data: bytes) -> str:
        """Write a file whole or not at all; its place."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""

    @abstractmethod
    def find(self, file_name: str) -> list[str]:
        """Names of all files that are called so, at any depth, sorted."""

    @abstractmethod
    def in_use(self) -> AbstractContextManager[None]:
        """While inside, results are written here; `ConfigError` where they cannot be."""


class FolderResults(Results):
    """On this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, name: str = "") -> str:
        return str(self.folder / name)

    def read(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            return None

    def has(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def write(self, name: str, data: bytes) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return str(write_whole(path, data).absolute())

    def remove(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def find(self, file_name: str) -> list[str]:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob(file_name))

    @contextmanager
    def in_use(self) -> Iterator[None]:
        with shared_use(prepared(self.folder)):
            yield


class StoreResults(Results):
    """In an object store: what is written is there whole or not at all, as such stores have it. It knows no locks."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")
        self._store, root = file_system(self._address)
        self._root = root.rstrip("/")

    def place(self, name: str = "") -> str:
        return f"{self._address}/{name}".rstrip("/")

    def read(self, name: str) -> bytes | None:
        try:
            return bytes(self._store.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError:
            return None
        except Exception as exc:  # every store has errors of its own
            raise self._failed(name, "read", exc) from exc

    def has(self, name: str) -> bool:
        try:
            return bool(self._store.info(f"{self._root}/{name}")["type"] == "file")
        except FileNotFoundError:
            return False
        except Exception as exc:  # every store has errors of its own
            raise self._failed(name, "looked for", exc) from exc

    def write(self, name: str, data: bytes) -> str:
        try:
            self._store.pipe_file(f"{self._root}/{name}", data)
        except Exception as exc:  # every store has errors of its own
            raise self._failed(name, "written", exc) from exc
        return self.place(name)

    def remove(self, name: str) -> None:
        if self.has(name):
            self._store.rm_file(f"{self._root}/{name}")

    def find(self, file_name: str) -> list[str]:
        try:
            self._store.invalidate_cache()  # others write, too
            found: list[str] = self._store.find(self._root)
        except FileNotFoundError:
            return []
        except Exception as exc:  # every store has errors of its own
            raise self._failed("", "listed", exc) from exc
        names = (os.path.relpath(name, self._root) for name in found)
        return sorted(name for name in names if name.rpartition("/")[2] == file_name)

    def in_use(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _failed(self, name: str, what: str, exc: Exception) -> ConfigError:
        return ConfigError(
            f"{self.place(name)}: cannot be {what}: {exc}; check the address and the credentials"
        )


def results_at(place: str) -> Results:
    """The results at a path, or at an address as `s3://bucket/fleet`."""
    return StoreResults(place) if "://" in place else FolderResults(Path(place))
