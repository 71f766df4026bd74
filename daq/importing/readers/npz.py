"""NPZ and NPY files of numpy, or folders of the latter: arrays of equal length are columns.

`RUN__array` are those of a run; the fields of a structured array are columns, too.
"""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from heft.daq.errors import ImportFileError
from heft.daq.importing.readers.unpacking import BOMB_RATIO, most_unpacked
from heft.daq.importing.table import HEAD_ROWS, Batch, Column, Source, Table
from heft.daq.temporary import temporary_folder

__all__ = ["NpzSource"]

RUN_SEPARATOR = "__"
BATCH_BYTES = 1 << 22  # of all arrays of a batch together
MOST_WIDE = 64  # numbers of one array in a row: joints
MOST_CONSTANT = 4096  # numbers of an array that is kept beside the rows
SHORT = 64  # rows: shorter arrays are constants, not columns of another length
UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True)
class _Member:
    """An array in the file; `across`: its rows are the last axis; `record`: what it is a field of, and which."""

    name: str
    file: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    across: bool = False
    record: tuple[np.dtype[Any], str] | None = None

    @property
    def rows(self) -> int:
        return self.shape[-1] if self.across else self.shape[0]

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return 1 if len(self.shape) == 1 else self.shape[0 if self.across else 1]


@dataclass(frozen=True)
class _File:
    """A file of its own, as an archive tells of its members."""

    filename: str
    file_size: int

    @property
    def compress_size(self) -> int:
        """It is not packed."""
        return self.file_size


class _Files:
    """An NPY file, or a folder of them, read as an archive of them would be."""

    def __init__(self, path: Path) -> None:
        self._paths = {one.name: one for one in (sorted(path.glob("*.npy")) if path.is_dir() else [path])}

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def infolist(self) -> list[_File]:
        """All of them, by name."""
        return [_File(name, one.stat().st_size) for name, one in self._paths.items()]

    def open(self, name: str) -> IO[bytes]:
        """One of them."""
        return self._paths[name].open("rb")


Archive = zipfile.ZipFile | _Files


def _archive(path: Path) -> Archive:
    return _Files(path) if path.is_dir() or path.suffix == ".npy" else zipfile.ZipFile(path)


class NpzSource(Source):
    """Arrays are read piece by piece; only those that lie across are unpacked to a temporary file first."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            with _archive(path) as archive:
                self.bounded(len(archive.infolist()))
                members = [one for info in archive.infolist() for one in self._members(archive, info)]
                self._runs, constants = self._sort(members)
                beside = {one.name: self._constant(archive, one) for one in constants}
        except ImportFileError:
            raise
        except UNREADABLE as exc:
            raise ImportFileError(
                f"{path}: not a whole {path.suffix[1:].upper() or 'NPZ'} file: {exc}; write it anew with numpy.savez"
            ) from exc
        widths = {
            name: one.width if len(one.shape) == 2 else 0
            for run in self._runs.values()
            for name, one in run.items()
        }
        columns = tuple(
            column
            for name, width in widths.items()
            for column in (
                [Column(f"{name}[{k}]", name, k) for k in range(width)] if width else [Column(name, name)]
            )
        )
        longest = max(self._runs, key=lambda run: next(iter(self._runs[run].values())).rows)
        head = next(self._run_batches(longest, list(widths), HEAD_ROWS), None)
        if head is None:
            raise ImportFileError(f"{path}: its arrays have no rows; give a file with samples")
        self.tables = (Table("", columns, head, constants=beside),)

    def batches(self, wanted: Mapping[str, Sequence[str]]) -> Iterator[Batch]:
        for run in self._runs:
            yield from self._run_batches(run, list(wanted.get("", ())))

    # -- reading ------------------------------------------------------------------------------------------------------

    def _run_batches(self, run: str, names: list[str], rows: int | None = None) -> Iterator[Batch]:
        """Rows of one run; an array that it has not is NaN."""
        members = self._runs[run]
        total = next(iter(members.values())).rows
        size = max(1, sum(members[n].dtype.itemsize * members[n].width for n in names if n in members))
        step = rows or max(256, BATCH_BYTES // size)
        with ExitStack() as stack:
            try:
                archive = _archive(self.path)
                stack.enter_context(archive)
                readers = {
                    name: self._reader(stack, archive, members[name]) for name in names if name in members
                }
                for start in range(0, total, step):
                    count = min(step, total - start)
                    arrays = {
                        name: readers[name](start, count) if name in readers else np.full(count, np.nan)
                        for name in names
                    }
                    yield Batch("", run, arrays, np.arange(start, start + count))
            except UNREADABLE as exc:
                raise ImportFileError(
                    f"{self.path}: cannot be read: {exc}; it is cut off or damaged"
                ) from exc

    def _reader(self, stack: ExitStack, archive: Archive, member: _Member) -> Any:
        """A function (start, count) -> rows, to be called in order."""
        if member.across or (member.fortran and len(member.shape) == 2):
            folder = stack.enter_context(temporary_folder())
            place = folder / "array.npy"
            with archive.open(member.file) as packed, place.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
            mapped = np.load(place, mmap_mode="r", allow_pickle=False)
            whole = mapped.T if member.across else mapped
            return lambda start, count: _plain(np.array(whole[start : start + count]))
        packed_file = stack.enter_context(archive.open(member.file))
        _header(packed_file)
        row = member.dtype.itemsize * member.width

        def read(start: int, count: int) -> NDArray[Any]:
            data = _read(packed_file, count * row)
            return _plain(np.frombuffer(data, member.dtype).reshape(count, *member.shape[1:]))

        def read_field(start: int, count: int) -> NDArray[Any]:
            assert member.record is not None
            record, field = member.record
            data = _read(packed_file, count * record.itemsize)
            return _plain(np.ascontiguousarray(np.frombuffer(data, record)[field]))

        return read if member.record is None else read_field

    def _members(self, archive: Archive, info: zipfile.ZipInfo | _File) -> list[_Member]:
        """An array, or the fields of one; none where it holds no numbers."""
        if not info.filename.endswith(".npy"):
            self.oddities.append(f"{info.filename} is no array")
            return []
        name = info.filename.removesuffix(".npy")
        with archive.open(info.filename) as file:
            shape, fortran, dtype = _header(file)
            begin = file.tell()
        if dtype.hasobject:
            self.oddities.append(f"{name} holds Python objects, which are not read")
            return []
        if info.file_size - begin != int(np.prod(shape, dtype=object)) * dtype.itemsize:
            raise ValueError(f"{name} states {shape} numbers, and has {info.file_size - begin} bytes")
        if info.file_size > most_unpacked(info.compress_size):
            raise ValueError(
                f"{name} unpacks to {info.file_size / 1e9:.2g} GB, {info.file_size / info.compress_size:.0f} times "
                f"what it takes in the file (at most {BOMB_RATIO}): no measured numbers do that"
            )
        if dtype.fields is not None and len(shape) == 1:
            return [
                _Member(field, info.filename, (*shape, *kind.shape), kind.base, False, record=(dtype, field))
                for field, (kind, *_) in dtype.fields.items()
                if kind.base.kind in "fiub" and len(kind.shape) < 2
            ]
        if dtype.kind not in "fiubUS":
            self.oddities.append(f"{name} is of type {dtype}, not of numbers")
            return []
        return [_Member(name, info.filename, shape, dtype, fortran)]

    def _sort(self, members: list[_Member]) -> tuple[dict[str, dict[str, _Member]], list[_Member]]:
        """Runs with their arrays of equal length, and what is constant."""
        by_run: dict[str, list[_Member]] = {}
        constants = []
        for one in members:
            run, separator, name = one.name.partition(RUN_SEPARATOR)
            if one.dtype.kind in "US" or not one.shape:
                constants.append(one)
            elif separator and name and run:
                by_run.setdefault(run, []).append(replace(one, name=name))
            else:
                by_run.setdefault("", []).append(one)
        runs: dict[str, dict[str, _Member]] = {}
        for run, some in by_run.items():
            lengths = Counter(length for one in some for length in {one.shape[0], one.shape[-1]})
            length = max(lengths, key=lambda n: (n >= SHORT, lengths[n], n))
            if length < SHORT and len(by_run) > 1 and not run:
                constants += some
                continue
            found = {}
            for one in some:
                if length not in one.shape and max(one.shape) < SHORT:
                    constants.append(one)
                elif one.shape[0] == length and (len(one.shape) == 1 or one.shape[1] <= MOST_WIDE):
                    found[one.name] = one
                elif len(one.shape) == 2 and one.shape[1] == length and one.shape[0] <= MOST_WIDE:
                    found[one.name] = replace(one, across=True)
                else:
                    self.oddities.append(
                        f"{one.name} has the shape {one.shape}, the others have {length} rows"
                    )
            if found:
                runs[run] = found
        if not runs:
            told = "; ".join(self.oddities[:3])
            raise ImportFileError(
                f"{self.path}: no arrays of numbers with one row per sample{': ' + told if told else ''}; "
                "write positions and torques as arrays of equal length"
            )
        return runs, constants

    def _constant(self, archive: Archive, member: _Member) -> NDArray[Any]:
        if np.prod(member.shape, dtype=object) > MOST_CONSTANT:
            return np.zeros(0)
        with archive.open(member.file) as file:
            array = npy.read_array(file, allow_pickle=False)
        return np.asarray(array if member.record is None else array[member.record[1]])


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran's order, and type of an array whose numbers follow."""
    version = npy.read_magic(file)
    if version == (1, 0):
        return npy.read_array_header_1_0(file)
    if version == (2, 0):
        return npy.read_array_header_2_0(file)
    raise ValueError(f"an array of the format's version {version}, which is not known")


def _read(file: IO[bytes], size: int) -> bytes:
    parts = []
    while size:
        part = file.read(size)
        if not part:
            raise EOFError("it ends in the middle of an array")
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Floats in this machine's order; whole numbers as they are."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)
