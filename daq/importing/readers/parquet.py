"""Parquet files, and the data sets of LeRobot (v3): many episodes a file, arrays of numbers in a cell."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from heft.daq.bounded_json import bounded_json
from heft.daq.errors import ImportFileError
from heft.daq.importing.stated_length import StatedLength
from heft.daq.importing.table import HEAD_ROWS, NO_TIME, Batch, Column, Source, Table

__all__ = ["ParquetSource", "data_set_files"]

BATCH_ROWS = 1 << 15
MOST_WIDE = 256  # numbers in one cell
MOST_META = 1 << 22  # bytes of info.json
#: Columns that count the runs of a file.
RUN_COLUMNS = ("episode_index", "episode", "run", "run_id", "trial")
UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError)


def data_set_files(folder: Path) -> tuple[Path, ...]:
    """The files of rows in a folder of LeRobot's layout (`data/chunk-000/file-000.parquet`), in order."""
    return tuple(sorted((folder / "data").glob("chunk-*/*.parquet")))


class ParquetSource(Source):
    """One file or, for a folder, all files of a data set; an episode is a run."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._files = data_set_files(path) if path.is_dir() else (path,)
        try:
            self._info = self._read_info()
            schema = _opened(self._files[0]).schema_arrow
            for other in self._files[1:]:
                if _opened(other).schema_arrow.names != schema.names:
                    raise ImportFileError(
                        f"{other}: other columns than {self._files[0].name}; import them apart"
                    )
            twice = [name for name, count in Counter(schema.names).items() if count > 1]
            if twice:
                raise ImportFileError(
                    f"{path}: {schema.names.count(twice[0])} columns are called {twice[0]!r}, so that none of them can "
                    "be asked for; rename them"
                )
            self.bounded(len(schema.names))
            self._run_column = next((name for name in RUN_COLUMNS if name in schema.names), None)
            names = [field.name for field in schema if self._readable(field)]
            if not names:
                raise ImportFileError(f"{path}: no columns of numbers; it has {', '.join(schema.names[:10])}")
            head = self._head(names)
        except ImportFileError:
            raise
        except UNREADABLE as exc:
            raise ImportFileError(
                f"{path}: not a whole Parquet file: {_first_line(exc)}; write it anew"
            ) from exc
        columns = tuple(column for name in names for column in self._columns(name, head.arrays[name]))
        fps, frames = self._info.get("fps"), self._info.get("total_frames")
        constants = {"fps": np.array(float(fps))} if isinstance(fps, int | float) else {}
        self.tables = (Table("", columns, head, constants=constants),)
        if path.is_dir() and isinstance(frames, int):
            self.stated = StatedLength(rows=frames)

    def batches(self, wanted: Mapping[str, Sequence[str]]) -> Iterator[Batch]:
        yield from self._parsed(list(wanted.get("", ())))

    def _parsed(self, names: list[str]) -> Iterator[Batch]:
        counts: dict[str, int] = {}
        run = self._run_column
        read = list(dict.fromkeys([*names, *([run] if run else [])]))
        row = 0
        for path in self._files:
            try:
                for part in _opened(path).iter_batches(BATCH_ROWS, columns=read, use_threads=True):
                    arrays, good = self._arrays(part, names, row)
                    runs = _numbers(part.column(run)) if run else np.zeros(part.num_rows)
                    row += part.num_rows
                    yield from self._by_run(arrays, good, runs, counts)
            except UNREADABLE as exc:
                if isinstance(exc, ImportFileError):
                    raise
                raise ImportFileError(
                    f"{path}: cannot be read: {_first_line(exc)}; it is cut off or damaged"
                ) from exc

    def _by_run(
        self,
        arrays: dict[str, NDArray[Any]],
        good: NDArray[np.bool_],
        runs: NDArray[Any],
        counts: dict[str, int],
    ) -> Iterator[Batch]:
        edges = [0, *(np.flatnonzero(np.diff(runs)) + 1).tolist(), len(runs)]
        for start, end in itertools.pairwise(edges):
            if start == end:
                continue
            name = f"{self._run_column}_{runs[start]:g}" if self._run_column else ""
            first = counts.get(name, 0)
            counts[name] = first + end - start
            kept = good[start:end]
            rows = first + np.flatnonzero(kept)
            some = {
                key: array[start:end] if kept.all() else array[start:end][kept]
                for key, array in arrays.items()
            }
            if len(rows):
                yield Batch("", name, some, rows)

    def _arrays(
        self, part: Any, names: list[str], row: int
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.bool_]]:
        """Numbers of a batch, and which rows have all of them."""
        good = np.ones(part.num_rows, bool)
        arrays = {}
        for name in names:
            column = part.column(name)
            if not _is_list(column.type):
                arrays[name] = _numbers(column)
                continue
            width = self._widths[name]
            lengths = np.asarray(pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False))
            wrong = lengths != width
            if wrong.any():
                for k in np.flatnonzero(wrong & good):
                    self.drop(row + int(k) + 1, f"{name} has {lengths[k]} numbers, not {width}")
                good &= ~wrong
                column = pc.if_else(pa.array(~wrong), column, pa.scalar([0.0] * width, column.type))
            arrays[name] = np.asarray(_numbers(column.flatten())).reshape(part.num_rows, width)
        return arrays, good

    def _head(self, names: list[str]) -> Batch:
        self._widths: dict[str, int] = {}
        file = _opened(self._files[0])
        if not file.metadata.num_rows:
            raise ImportFileError(f"{self.path}: it has no rows; give a file with samples")
        lists = [name for name in names if _is_list(file.schema_arrow.field(name).type)]
        for first in itertools.islice(file.iter_batches(256, columns=lists, use_threads=False), bool(lists)):
            for name in lists:
                lengths = pc.list_value_length(first.column(name)).drop_null().to_numpy()
                self._widths[name] = int(np.median(lengths)) if len(lengths) else 0
                if not 0 < self._widths[name] <= MOST_WIDE:
                    raise ImportFileError(f"{self.path}: {name} has {self._widths[name]} numbers in a cell")
        longest: list[Batch] = []
        for batch in self._parsed(names):
            if longest and batch.run != longest[-1].run:
                if sum(map(len, longest)) >= 1000:
                    break
                longest = []
            longest.append(batch)
            if sum(map(len, longest)) >= HEAD_ROWS:
                break
        self.dropped, self.n_dropped = [], 0
        if not longest:
            raise ImportFileError(f"{self.path}: not one whole row; give a file with samples")
        arrays = {name: np.concatenate([part.arrays[name] for part in longest])[:HEAD_ROWS] for name in names}
        return Batch("", longest[0].run, arrays, np.concatenate([part.rows for part in longest])[:HEAD_ROWS])

    def _readable(self, field: Any) -> bool:
        kind = field.type.value_type if _is_list(field.type) else field.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind):
            return True
        self.oddities.append(f"{field.name} is of type {field.type}, not of numbers")
        return False

    def _columns(self, name: str, array: NDArray[Any]) -> list[Column]:
        if array.ndim == 1:
            return [Column(name, name)]
        stated = self._info.get("features")
        feature = stated.get(name) if isinstance(stated, dict) else None
        labels = _labels(feature.get("names") if isinstance(feature, dict) else None, array.shape[1])
        return [Column(f"{name}[{k}]", name, k, label) for k, label in enumerate(labels)]

    def _read_info(self) -> dict[str, Any]:
        """`meta/info.json` of the data set that the file is part of; empty where there is none."""
        for folder in (self.path, *self.path.parents)[:4]:
            place = folder / "meta" / "info.json"
            if place.is_file():
                if place.stat().st_size > MOST_META:
                    raise ValueError(
                        f"{place.name} has {place.stat().st_size} bytes, at most {MOST_META} are read"
                    )
                data = bounded_json(place.read_text(encoding="utf-8"), most=MOST_META)
                return data if isinstance(data, dict) else {}
        return {}


def _opened(path: Path) -> Any:
    """A file that is read through a small buffer, column by column, not whole groups of rows at once."""
    return pq.ParquetFile(path, buffer_size=1 << 18, pre_buffer=False)


def _labels(names: Any, width: int) -> list[str]:
    """What a data set calls the numbers of a cell: a list, or a mapping with one."""
    if isinstance(names, dict):
        names = next((one for one in names.values() if isinstance(one, list)), None)
    if isinstance(names, list) and len(names) == width and all(isinstance(one, str) for one in names):
        return names
    return [""] * width


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind))


def _numbers(column: Any) -> NDArray[Any]:
    """Floats, NaN where missing; times as whole nanoseconds of UTC, `NO_TIME` where there is none."""
    if pa.types.is_timestamp(column.type):
        whole = column.cast(pa.timestamp("ns", column.type.tz), safe=False).cast(pa.int64())
        return np.asarray(whole.fill_null(int(NO_TIME)).to_numpy(zero_copy_only=False), np.int64)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _first_line(exc: Exception) -> str:
    return (str(exc).splitlines() or [type(exc).__name__])[0]
