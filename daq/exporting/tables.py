"""A recording's streams as CSV or Parquet, one table each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from heft.daq.errors import ConfigError
from heft.daq.recording import Recording
from heft.daq.recording.columns import NO_TIME
from heft.daq.whole_file import whole_file
from heft.drivers.block import Block
from heft.drivers.stream import Role, Stream

__all__ = ["chosen_streams", "export_tables"]


def chosen_streams(recording: Recording, names: Sequence[str]) -> tuple[Stream, ...]:
    """The streams of these names, or all that were measured; `ConfigError` for a name that is not there."""
    for name in names:
        if name not in recording.streams:
            raise ConfigError(
                f"{recording.path}: no stream {name!r}; there are: {', '.join(recording.streams)}"
            )
    if names:
        return tuple(recording.streams[name] for name in names)
    return tuple(stream for stream in recording.streams.values() if stream.role is Role.MEASURED)


def export_tables(
    recording: Recording, into: Path, streams: Sequence[Stream], kind: str, *, replace: bool = False
) -> list[Path]:
    """Write streams as `csv` or `parquet`; of several, each into a file with its name in it.

    Columns: `t [s]` since the recording's first sample, `utc [ns]`, then `joint.quantity [unit]`; empty or NaN where a
    value is not valid. The time of a sample is when its device took it, where the device was asked, else when it came.
    """
    paths = []
    for stream in streams:
        path = into if len(streams) == 1 else into.with_name(f"{into.stem}.{stream.name}{into.suffix}")
        schema = _schema(stream)
        with whole_file(path, replace=replace) as draft, _writer(draft, schema, kind) as writer:
            for part in _parts(recording, stream, schema):
                writer.write_table(part)
        paths.append(path)
    return paths


def _schema(stream: Stream) -> Any:
    fields = [("t [s]", pa.float64()), ("utc [ns]", pa.int64())]
    return pa.schema([*fields, *((f"{c.name} [{c.unit}]", pa.float64()) for c in stream.columns)])


def _writer(path: Path, schema: Any, kind: str) -> Any:
    return csv.CSVWriter(path, schema) if kind == "csv" else pq.ParquetWriter(path, schema)


def _parts(recording: Recording, stream: Stream, schema: Any) -> Iterator[Any]:
    """Tables of some Blocks each."""
    start_ns, offset_ns = recording.span_ns[0], recording.utc_offset_ns
    waiting: list[Block] = []
    for block in recording.blocks(stream.name):
        waiting.append(block)
        if sum(map(len, waiting)) >= 1 << 14:
            yield _table(waiting, start_ns, offset_ns, schema)
            waiting = []
    if waiting:
        yield _table(waiting, start_ns, offset_ns, schema)


def _table(blocks: Sequence[Block], start_ns: int, offset_ns: int, schema: Any) -> Any:
    taken = np.concatenate([_taken(block) for block in blocks])
    values = np.concatenate([block.si for block in blocks])
    arrays = [(taken - start_ns) * 1e-9, taken + offset_ns, *values.T]
    return pa.Table.from_arrays([pa.array(array, from_pandas=True) for array in arrays], schema=schema)


def _taken(block: Block) -> Any:
    """Host times of the samples [ns] (N,)."""
    if not block.stream.at_request or block.request_ns is None:
        return block.host_ns
    return np.where(block.request_ns != NO_TIME, block.request_ns, block.host_ns)
