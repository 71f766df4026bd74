"""A dataset from a recording, resampled plainly: each stream by its own stamps, no delays taken out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from daq.clockfit import fit_clock
from daq.recording import NO_TIME, Recording
from daq.ticks import Unwrapper
from drivers.stream import Role, Stream
from identify.arrays import Array
from identify.dataset.dataset import Dataset
from identify.errors import DataError

if TYPE_CHECKING:
    from identify.robot import Robot

__all__ = ["read_recording"]

IDENTIFICATION = "identification"
NEAR = 0.02  # of a step: stamps of two streams this near are the same instants


def read_recording(path: Path, robot: Robot, use: str | None) -> Dataset:
    """Positions and torques of the parts of a session meant for `use` (None: identification, or all of it).

    Torque is measured as such, or current times gear and torque constant. Positions come from the device that also
    tells of torque, where it tells of both: one clock. Invalid samples are left out.
    """
    recording = Recording.open(path)
    torque = _find(recording, robot, ("torque", "current"), None)
    motion = _find(recording, robot, ("position",), torque[0].device)
    intervals, notes = _intervals(recording, use)
    t_motion, q = _series(recording, *motion, robot)
    t_torque, tau = _series(recording, *torque, robot)
    if torque[1] == "current":
        tau = robot.torque_from_current(tau)
    tau, near = _at(t_motion, t_torque, tau)
    inside = np.zeros(len(t_motion), dtype=bool)
    for start, end in intervals:
        inside |= (t_motion >= start) & (t_motion < end)
    use_rows = near & inside
    if not use_rows.any():
        raise DataError(
            f"{path}: no sample of {motion[0].name} and {torque[0].name} for {use or IDENTIFICATION}"
        )
    t = t_motion[use_rows]
    return Dataset(
        t - t[0],
        q[use_rows],
        tau[use_rows],
        source=str(path),
        notes=tuple(notes),
        torque_stream=torque[0].name,
        motion_stream=motion[0].name,
    )


def _find(
    recording: Recording, robot: Robot, quantities: tuple[str, ...], device: str | None
) -> tuple[Stream, str]:
    """The measured stream that has one of these quantities for every joint; of `device` rather than of another."""
    found = []
    for quantity in quantities:
        for stream in recording.streams.values():
            has = {column.of for column in stream.columns if column.quantity == quantity}
            if stream.role == Role.MEASURED and has >= set(robot.joints):
                found.append((stream, quantity))
    if not found:
        known = ", ".join(recording.streams)
        raise DataError(
            f"{recording.path}: no stream with {' or '.join(quantities)} of all joints ({', '.join(robot.joints)}); "
            f"it has {known}: is this the right robot?"
        )
    return min(found, key=lambda item: item[0].device != device)


def _intervals(recording: Recording, use: str | None) -> tuple[list[tuple[float, float]], list[str]]:
    """Host times [s] of the segments for a use."""
    wanted = use or IDENTIFICATION
    found = [(s.start_ns * 1e-9, s.end_ns * 1e-9) for s in recording.segments if s.use == wanted]
    if found:
        return found, []
    if use is not None:
        has = ", ".join(sorted({segment.use for segment in recording.segments})) or "none"
        raise DataError(f"{recording.path}: no segment for {use}; its segments are for: {has}")
    return [(-np.inf, np.inf)], ["the recording has no segment for identification: all of it is used"]


def _series(recording: Recording, stream: Stream, quantity: str, robot: Robot) -> tuple[Array, Array]:
    """Stamps [s] on the host's clock (N,), and one quantity of all joints in SI units (N, n); valid samples only."""
    columns = recording.columns(stream.name)
    if len(columns) < 2:
        raise DataError(
            f"{recording.path}: {stream.name} has {len(columns)} samples; was its device connected?"
        )
    host_ns = columns.host_ns
    if stream.at_request and columns.request_ns is not None:
        host_ns = columns.request_ns
    if columns.ticks is not None and stream.tick_hz is not None and not np.any(columns.ticks == NO_TIME):
        out = Unwrapper.of(stream).unwrap(columns.sequence, columns.ticks)
        host_ns = fit_clock(out.ticks, host_ns, stream.tick_hz, restarts=out.rows.tolist()).to_host(out.ticks)
    values = np.stack([columns[f"{joint}.{quantity}"] for joint in robot.joints], axis=1)
    valid = np.isfinite(values).all(axis=1)
    _, order = np.unique(host_ns[valid], return_index=True)
    stamps = host_ns[valid][order].astype(np.float64) * 1e-9
    return stamps, values[valid][order]


def _at(t: Array, stamps: Array, values: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Values (M, n) at other instants t (N,): (N, n), and where they have neighbours in time."""
    step = float(np.median(np.diff(stamps)))
    place = np.clip(np.searchsorted(stamps, t), 1, len(stamps) - 1)
    before, after = t - stamps[place - 1], stamps[place] - t
    nearest = place - (before <= after)
    if np.abs(stamps[nearest] - t).max() <= NEAR * step:
        return values[nearest], np.ones(len(t), dtype=bool)
    near = (before >= -NEAR * step) & (after >= -NEAR * step) & (before + after <= 4 * step)
    return make_interp_spline(stamps, values, k=3)(t), near
