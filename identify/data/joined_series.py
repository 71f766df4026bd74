"""One quantity of all joints, from one stream or from several, at the instants of the first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heft.daq.recording import Recording
from heft.identify.bodies.arrays import Array
from heft.identify.data.measured_streams import JointSource
from heft.identify.data.resampling import at_instants
from heft.identify.data.stream_series import Series, read_series
from heft.identify.errors import DataError
from heft.identify.robot import Robot

__all__ = ["JoinedSeries", "read_source"]


@dataclass(frozen=True)
class JoinedSeries:
    """Stamps [s] (N,), values of the measured joints or motors in the robot's order (N, m), and what they came from."""

    name: str
    t: Array
    values: Array
    rate_hz: float
    parts: tuple[Series, ...]


def read_source(recording: Recording, source: JointSource, robot: Robot) -> JoinedSeries:
    """What a source measured; where it is several streams, instants at which one of them is missing are left out."""
    series = [
        read_series(recording, stream, source.columns(places, robot)) for stream, places in source.parts
    ]
    first = series[0]
    rows = np.ones(len(first.t), dtype=bool)
    columns = dict(zip(source.parts[0][1], first.values.T, strict=True))
    for (_, places), one in zip(source.parts[1:], series[1:], strict=True):
        values, near = at_instants(first.t, one.t, one.values)
        rows &= near
        columns |= dict(zip(places, values.T, strict=True))
    if not rows.any():
        raise DataError(
            f"{recording.path}: {source.name} have no instant in common; were the devices on at the same time?"
        )
    values = np.stack([columns[place] for place in source.joints], axis=1)
    return JoinedSeries(source.name, first.t[rows], values[rows], first.rate_hz, tuple(series))
