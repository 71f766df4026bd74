"""The log of a recording: every measured stream with its own stamps, as it was recorded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heft.daq.recording import Columns, Recording
from heft.daq.stamps import Stamps, stamps_of
from heft.drivers.stream import Role, Stream
from heft.identify.bodies.arrays import Array
from heft.identify.data.measured_streams import (
    WRENCH,
    JointSource,
    motion_source,
    temperature_stream,
    torque_source,
    velocity_source,
    wrench_streams,
)
from heft.identify.data.recorded_signals import IDENTIFICATION
from heft.identify.diagnosis.log import QUANTITIES, Log, Table
from heft.identify.errors import DataError
from heft.identify.robot import Robot

__all__ = ["recorded_log"]

_ALWAYS = (-(1 << 62), 1 << 62)
MOST_ROWS = 300_000  # of a stream: what is wrong shows in the first minutes


def recorded_log(recording: Recording, robot: Robot | None = None, *, whole: bool = False) -> Log:
    """What was measured for identification, or all where nothing is marked so; without a robot by quantity alone.

    whole   everything that was measured, whatever for
    """
    tables: dict[str, Table] = {}
    streams = [one for one in recording.streams.values() if one.role is Role.MEASURED]
    inside = [_ALWAYS] if whole else _inside(recording)
    samples = _Samples(recording, inside, max((one.rate_hz for one in streams), default=0.0))
    if robot is not None:
        sources = {
            "q": motion_source(streams, robot),
            "dq": velocity_source(streams, robot),
            "tau": torque_source(streams, robot),
        }
        for key, source in sources.items():
            if source is not None and len(source.joints) == len(robot.joints):
                tables[key] = _of_source(samples, source, robot, inside)
        joints = robot.joints
    else:
        joints, tables = _by_quantity(samples, streams, inside)
    if "q" not in tables:
        wanted = "of any joint" if robot is None else f"of all joints ({', '.join(robot.joints)})"
        raise DataError(
            f"{recording.path}: no stream with position {wanted}; it has {', '.join(recording.streams)}"
        )
    for wrench in wrench_streams(streams)[:1]:
        tables["wrench"] = _table(samples, wrench, list(WRENCH), WRENCH, inside)
    warm = None if robot is None else temperature_stream(streams, robot)
    if warm is not None:
        names = [f"{joint}.temperature" for joint in joints]
        tables["temperature"] = _table(samples, warm, names, joints, inside)
    start = min(float(np.nanmin(one.t)) for one in tables.values() if np.isfinite(one.t).any())
    moved = {
        key: Table(
            one.t - start, one.values, one.names, None if one.host is None else one.host - start, one.stream
        )
        for key, one in tables.items()
    }
    breaks = tuple(begin * 1e-9 - start for begin, _ in inside[1:])
    return Log(joints, _shared(moved), None, recording.path.name, breaks)


def _inside(recording: Recording) -> list[tuple[int, int]]:
    marked = [(one.start_ns, one.end_ns) for one in recording.segments if one.use == IDENTIFICATION]
    return marked or [_ALWAYS]


class _Samples:
    """Columns and stamps of streams, each read once: several quantities may be of one stream."""

    def __init__(self, recording: Recording, inside: list[tuple[int, int]], rate_hz: float) -> None:
        """Of a recording that has more than `MOST_ROWS` at this rate, the part from the first interval on."""
        first_ns, last_ns = recording.span_ns
        start_ns = max(first_ns, inside[0][0])
        most_ns = int(MOST_ROWS / rate_hz * 1e9) if rate_hz > 0 else last_ns - start_ns
        self._span = (start_ns, start_ns + most_ns) if last_ns - start_ns > most_ns else (None, None)
        self._recording = recording
        self._read: dict[str, tuple[Columns, Stamps]] = {}

    def of(self, name: str) -> tuple[Columns, Stamps]:
        """Of the stream of this name."""
        if name not in self._read:
            data = self._recording.columns(name, *self._span)
            self._read[name] = data, stamps_of(data)
        return self._read[name]


def _table(
    samples: _Samples,
    stream: Stream,
    columns: list[str],
    names: Sequence[str],
    inside: list[tuple[int, int]],
) -> Table:
    data, stamps = samples.of(stream.name)
    values = np.stack([data[name] for name in columns], axis=1)
    t = np.where(stamps.good, stamps.ns * 1e-9, np.nan)
    rows = _rows(data.host_ns, inside)
    host = data.host_ns[rows].astype(np.float64) * 1e-9 if stamps.fit is not None else None
    return Table(t[rows], values[rows], tuple(names), host, stream.name)


def _rows(host_ns: NDArray[np.int64], inside: list[tuple[int, int]]) -> NDArray[np.intp]:
    rows = np.zeros(len(host_ns), dtype=bool)
    for start, end in inside:
        rows |= (host_ns >= start) & (host_ns < end)
    return np.flatnonzero(rows)[:MOST_ROWS]


def _of_source(samples: _Samples, source: JointSource, robot: Robot, inside: list[tuple[int, int]]) -> Table:
    """Of one stream; of several, at the rows of the first."""
    parts = [
        (
            _table(samples, stream, source.columns(places, robot), [robot.joints[i] for i in places], inside),
            places,
        )
        for stream, places in source.parts
    ]
    first = parts[0][0]
    values = np.full((len(first), len(source.joints)), np.nan)
    for one, places in parts:
        good = np.isfinite(one.t)
        order = np.argsort(one.t[good], kind="stable")
        for k, place in enumerate(places):
            column = one.values[:, k]
            values[:, place] = (
                column if one is first else np.interp(first.t, one.t[good][order], column[good][order])
            )
    return Table(first.t, source.of_joints(values, robot), robot.joints, first.host, source.name)


def _by_quantity(
    samples: _Samples, streams: list[Stream], inside: list[tuple[int, int]]
) -> tuple[tuple[str, ...], dict[str, Table]]:
    """The first stream with each quantity: positions say which joints there are."""
    tables: dict[str, Table] = {}
    joints: tuple[str, ...] = ()
    for key, wanted in (("q", ("position",)), ("dq", ("velocity",)), ("tau", ("torque", "current"))):
        for stream in streams:
            columns = [c for c in stream.columns if c.quantity in wanted and c.of not in ("x", "y", "z")]
            if key != "q":
                columns = [c for c in columns if c.of in joints]
            if columns and (key == "q" or len(columns) == len(joints)):
                joints = tuple(c.of for c in columns) if key == "q" else joints
                tables[key] = _table(
                    samples, stream, [c.name for c in columns], [c.of for c in columns], inside
                )
                break
    return joints, tables


def _shared(tables: dict[str, Table]) -> dict[str, Table]:
    """Tables of which equal stamps are one array, in the order of `QUANTITIES`."""
    seen: list[Array] = []
    out = {}
    for key in QUANTITIES:
        if key in tables:
            one = tables[key]
            t = next((t for t in seen if np.array_equal(t, one.t, equal_nan=True)), one.t)
            seen.append(t)
            out[key] = Table(t, one.values, one.names, one.host, one.stream)
    return out
