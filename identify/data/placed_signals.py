"""Wrenches and the root's motion out of a recording: sensors that the robot's file gives a place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.daq.recording import Recording
from heft.identify.bodies.arrays import Array
from heft.identify.data.bridging import bridge_gaps
from heft.identify.data.measured_streams import (
    ORIENTATION,
    RATE_AND_FORCE,
    WRENCH,
    imu_stream,
    placed_wrenches,
)
from heft.identify.data.resampling import at_instants
from heft.identify.data.stream_series import Series, read_series
from heft.identify.errors import DataError
from heft.identify.robot import Robot

__all__ = ["PlacedSignals", "placed_signals", "series_at"]

WRENCH_BRIDGED_S = 0.02


@dataclass(frozen=True)
class PlacedSignals:
    """Series of six-axis sensors by name, and of an IMU, or None; notes for the result."""

    forces: dict[str, Series]
    imu: Series | None
    imu_name: str
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the six-axis sensors."""
        return tuple(self.forces)

    @property
    def series(self) -> list[Series]:
        """All of them."""
        return [*self.forces.values(), *([] if self.imu is None else [self.imu])]

    def wrenches(self, t: Array) -> Array | None:
        """Side by side at instants t [s] (N,), shape (N, 6 S), NaN where one is not known; None: there is none."""
        return np.hstack([series_at(t, one) for one in self.forces.values()]) if self.forces else None

    def root(self, t: Array) -> Array | None:
        """The IMU's readings at instants t [s] (N,), shape (N, 6) or (N, 10); `DataError` where they are not known."""
        if self.imu is None:
            return None
        readings = series_at(t, self.imu)
        lost = float((~np.isfinite(readings).all(axis=1)).mean())
        if lost:
            raise DataError(
                f"{self.imu.name} is not known in {100 * lost:.2g} % of the samples, and without it nothing is known "
                "of the root's motion; record again, with the IMU on from the start"
            )
        return readings


def placed_signals(recording: Recording, robot: Robot) -> PlacedSignals:
    """What the sensors with a place measured; empty for a robot without any."""
    streams = list(recording.streams.values())
    forces = {
        name: read_series(recording, stream, list(WRENCH))
        for name, stream in placed_wrenches(streams, robot).items()
    }
    stream = imu_stream(streams)
    if stream is None or not robot.tree.free:
        return PlacedSignals(forces, None, "")
    if stream.device not in robot.imus:
        note = f"{stream.name} is not used: {robot.name}'s file gives {stream.device} no place; name it under `imu`"
        return PlacedSignals(forces, None, "", (note,))
    told = {column.name for column in stream.columns} >= set(ORIENTATION)
    columns = [*RATE_AND_FORCE, *(ORIENTATION if told else ())]
    return PlacedSignals(forces, read_series(recording, stream, columns), stream.device)


def series_at(t: Array, one: Series) -> Array:
    """Values at other instants t [s] (N,): (N, k), NaN where they are not known."""
    stamps, filled, _ = bridge_gaps(one.t, {"values": one.values}, WRENCH_BRIDGED_S)
    values, near = at_instants(t, stamps, filled.get("values", one.values))
    return np.where(near[:, None], values, np.nan)
