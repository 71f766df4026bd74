"""From files and a map to an ordinary recording: streams, segments, and where it all came from."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import ConfigError, ImportFileError
from heft.daq.importing.binding import BoundStream, bind
from heft.daq.importing.import_map import ImportMap
from heft.daq.importing.table import Batch, Source
from heft.daq.importing.time_axis import HOST_START_NS, TimeAxis
from heft.daq.importing.turns import TurnCounter
from heft.daq.record import layout
from heft.daq.record.viewer import NO_ROBOT, Viewer
from heft.daq.record.writer import Writer
from heft.daq.whole_file import whole_file
from heft.drivers.block import Validity

__all__ = ["IMPORT_NOTE", "MAP_FILE", "Imported", "stem_among", "write_recording"]

IMPORT_NOTE = "heft.import"
MAP_FILE = "import/map.yaml"
BLOCK_S = 1.0  # length of a Block
HASHED = 1 << 26  # bytes: larger files are known by their ends
USES = {"fit": "identification", "validate": "validation", "payload": "payload"}


@dataclass
class Imported:
    """What became of the files: rows by stream, rows left out by file, their segments and uses; what is odd of them."""

    rows: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    segments: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "rows": self.rows,
            "dropped": self.dropped,
            "broken": self.broken,
            "segments": self.segments,
            "notes": self.notes,
        }


def write_recording(
    path: Path,
    sources: Sequence[Source],
    mapped: ImportMap,
    *,
    hold_back: float = 0.0,
    attachments: Mapping[str, bytes] | None = None,
    reasons: Sequence[Mapping[str, str]] = (),
    replace: bool = False,
    viewer: Viewer = NO_ROBOT,
) -> Imported:
    """Write files of one layout as one recording; nothing is there where it fails.

    hold_back    share that is for validation where the map gives nothing to it: see `_hold_back`
    attachments  files that travel inside, by name
    reasons      of the guesses, for the record
    viewer       what is written for viewers
    """
    first = sources[0]
    axis = TimeAxis(mapped, _needed_tables(first, mapped), _file_utc_ns(first.path))
    rates = {table.name: axis.rate_hz(table) for table in _needed_tables(first, mapped)}
    done = Imported()
    with whole_file(path, replace=replace) as draft, open(draft, "wb", buffering=0) as raw:
        writer = Writer(raw, axis.utc_offset_ns, viewer)
        for name, data in (attachments or {}).items():
            writer.attach(name, "application/octet-stream", HOST_START_NS, data)
        writer.attach(MAP_FILE, "application/yaml", HOST_START_NS, mapped.to_yaml().encode())
        counters: dict[str, int] = {}
        labels = _labels([source.path for source in sources])
        for source in sources:
            _write_source(writer, source, mapped, axis, rates, counters, done, labels)
            axis.next_file()
        if not any(done.rows.values()):
            raise ImportFileError(f"{first.path}: no row could be used; is the map right?")
        if hold_back:
            _hold_back(done, hold_back)
        for segment in done.segments:
            _mark(writer, segment)
        writer.note(IMPORT_NOTE, _provenance(sources, mapped, axis, done, reasons))
        writer.finish()
        os.fsync(raw.fileno())
    return done


def _labels(paths: Sequence[Path]) -> dict[Path, str]:
    """The shortest end of each path that no other ends with: the file's name, with its folder where names are alike."""
    labels = {}
    for path in paths:
        others = [other.parts for other in paths if other != path]
        depths = range(1, len(path.parts) + 1)
        depth = next((d for d in depths if all(one[-d:] != path.parts[-d:] for one in others)), depths[-1])
        labels[path] = "/".join(path.parts[-depth:])
    return labels


def stem_among(path: Path, paths: Sequence[Path]) -> str:
    """A name for what is made of a file: its stem, or more of its path where several have that."""
    if sum(other.stem == path.stem for other in {*paths, path}) < 2:
        return path.stem
    return _labels([*paths, path])[path].strip("/").replace("/", "_").replace(".", "_")


def _needed_tables(source: Source, mapped: ImportMap) -> list[Any]:
    """Tables that a map takes columns of."""
    rates = {table.name: 1.0 for table in source.tables}
    names = {one.table for one in bind(mapped, source.tables, rates)}
    return [table for table in source.tables if table.name in names]


def _write_source(
    writer: Writer,
    source: Source,
    mapped: ImportMap,
    axis: TimeAxis,
    rates: dict[str, float],
    counters: dict[str, int],
    done: Imported,
    labels: Mapping[Path, str],
) -> None:
    try:
        bound = bind(mapped, source.tables, {**{t.name: 1.0 for t in source.tables}, **rates})
    except ConfigError as exc:
        raise ConfigError(f"{source.path}: {exc}") from exc
    # Arrays of the time column are of the table that has it, which is the only one outside of bags.
    wanted = {one.table: list(dict.fromkeys([*axis.columns, *one.arrays])) for one in bound}
    for one in bound:
        wanted[one.table] = list(dict.fromkeys([*wanted[one.table], *one.arrays]))
    begun: dict[tuple[str, str], int] = {}
    turned: dict[tuple[str, str], TurnCounter] = {}
    read = 0
    for batch in source.batches(wanted):
        read += len(batch)
        if batch.table not in wanted:  # other joints on a topic that is wanted
            continue
        stamped = axis.stamp(batch)
        missing = len(batch) - len(stamped.rows)
        if missing:
            gone = np.setdiff1d(np.arange(len(batch)), stamped.rows)
            source.drop(int(batch.rows[gone[0]]) + 1, "no time", missing)
        if not len(stamped.rows):
            continue
        for one in bound:
            if one.table != batch.table:
                continue
            key = (one.stream.name, batch.run)
            if key not in begun:  # sequence numbers go on from run to run
                begun[key] = counters.get(one.stream.name, 0) - int(batch.rows[stamped.rows[0]])
            values = one.values(batch)
            if one.turns is not None:
                counter = turned.setdefault(key, TurnCounter(one.turns))
                values = counter(values).astype(values.dtype, copy=False)
            last = _write_rows(writer, one, batch, values, stamped, begun[key])
            counters[one.stream.name] = last + 1
            done.rows[one.stream.name] = done.rows.get(one.stream.name, 0) + len(stamped.rows)
    label = labels[source.path]
    done.dropped[label] = source.n_dropped
    done.broken += [f"{label}: row {one.row}: {one.why}" for one in source.dropped]
    seconds = sum(end_ns - start_ns for start_ns, end_ns in axis.spans.values()) * 1e-9
    if short := source.stated.shortfall(read + source.n_dropped, seconds):
        done.notes.append(f"{label}: {short}")
    for run, (start_ns, end_ns) in axis.spans.items():
        stem = stem_among(source.path, list(labels))
        name = "_".join(filter(None, [stem if len(labels) > 1 or not run else "", run]))
        use = _use(mapped, source.path, run, [str(path) for path in labels])
        step_ns = int(1e9 / max(rates.values()))
        done.segments.append(
            {
                "segment": name,
                "use": use,
                "start_ns": start_ns,
                "end_ns": end_ns + step_ns,
                "file": label,
            }
        )


def _write_rows(
    writer: Writer, one: BoundStream, batch: Batch, values: NDArray[Any], stamped: Any, offset: int
) -> int:
    """Write the rows of a batch as Blocks, cut where rows are missing; the last sequence number."""
    if len(stamped.rows) < len(batch):
        values = values[stamped.rows]
    sequence = batch.rows[stamped.rows] + offset
    validity = np.zeros(values.shape, np.uint8)
    finite = np.isfinite(values)
    if not finite.all():
        validity[~finite] = Validity.FAULT
    stream = one.stream
    if stamped.device_ns is not None:
        stream = _at_request(stream)
    most = max(16, round(stream.rate_hz * BLOCK_S))
    writer.rows(stream, sequence, stamped.host_ns, values, validity, stamped.device_ns, most=most)
    return int(sequence[-1])


def _at_request(stream: Any) -> Any:
    """The stream whose samples were taken at `request_ns`: the device's own stamps."""
    return with_fields(stream, at_request=True)


def _use(mapped: ImportMap, path: Path, run: str, paths: Sequence[str]) -> str:
    """What a run is for, as the map says: the first entry that fits its file and its name.

    An entry that is the whole path of a file is of that file alone, others of all files of that name.
    """
    for segment in mapped.segments:
        own = (str(path),) if segment.file in paths else ("", path.name, path.stem)
        if segment.file in own and segment.run in ("", run):
            return USES.get(segment.use, "none")
    return USES["fit"]


def _hold_back(done: Imported, share: float) -> None:
    """Give a share to validation where nothing is: of a lone run its end, of several every so many runs whole."""
    if any(segment["use"] == USES["validate"] for segment in done.segments):
        return
    runs = [segment for segment in done.segments if segment["use"] == USES["fit"]]
    if len(runs) > 1:
        every = min(max(2, round(1 / share)), len(runs))
        for segment in runs[every - 1 :: every]:
            segment["use"] = USES["validate"]
        return
    for whole in runs:
        middle_ns = whole["end_ns"] - int(share * (whole["end_ns"] - whole["start_ns"]))
        rest = {
            **whole,
            "segment": f"{whole['segment']}_held_back",
            "use": USES["validate"],
            "start_ns": middle_ns,
        }
        whole["end_ns"] = middle_ns
        done.segments.append(rest)


def _mark(writer: Writer, segment: Mapping[str, Any]) -> None:
    if segment["use"] == "none":
        return
    for event, at in ((layout.SEGMENT_START, segment["start_ns"]), (layout.SEGMENT_END, segment["end_ns"])):
        facts = {"t_ns": at, "name": event, "segment": segment["segment"], "use": segment["use"]}
        writer.event(at, json.dumps(facts))


def _provenance(
    sources: Sequence[Source],
    mapped: ImportMap,
    axis: TimeAxis,
    done: Imported,
    reasons: Sequence[Mapping[str, str]],
) -> dict[str, str]:
    """Where a recording came from, as a note inside it."""
    files = [
        {
            "name": one.path.name,
            "kind": type(one).__name__.removesuffix("Source").lower(),
            **_identity(one.path),
        }
        for one in sources
    ]
    return {
        "files": json.dumps(files),
        "map": json.dumps(mapped.to_dict()),
        "columns": json.dumps(list(reasons)),
        "rows": json.dumps(done.rows),
        "dropped": json.dumps(done.dropped),
        "broken": json.dumps(done.broken),
        "notes": json.dumps(done.notes),
        "utc": "from the file's stamps" if axis.dated else "from the date of the file",
    }


def _identity(path: Path) -> dict[str, Any]:
    """Size and digest of a file; of a large one, of its first and its last part. A folder has neither."""
    if path.is_dir():
        return {}
    size = path.stat().st_size
    digest = hashlib.sha256()
    with path.open("rb") as file:
        if size <= HASHED:
            digest.update(file.read())
            return {"bytes": size, "sha256": digest.hexdigest()}
        digest.update(file.read(1 << 20))
        file.seek(-(1 << 20), os.SEEK_END)
        digest.update(file.read())
    return {"bytes": size, "sha256_of_ends": digest.hexdigest()}


def _file_utc_ns(path: Path) -> int:
    return path.stat().st_mtime_ns
