"""Setpoints: a timed piece of a trajectory on its way to a drive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Setpoints"]


@dataclass(frozen=True, slots=True, eq=False)
class Setpoints:
    """N setpoints for n axes, to be taken up at given host times.

    sequence      number of the first setpoint since arming
    host_ns       when each one is due, host clock [ns], shape (N,) int64, strictly increasing
    position      [rad] or [m], shape (N, n)
    velocity      [rad/s] or [m/s], shape (N, n)
    acceleration  [rad/s2] or [m/s2], shape (N, n)
    last          True where the trajectory ends at rest with this chunk: no more is an end, not an underrun
    """

    sequence: int
    host_ns: NDArray[np.int64]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    acceleration: NDArray[np.float64]
    last: bool = False

    def __post_init__(self) -> None:
        shape = self.position.shape
        if len(shape) != 2 or self.velocity.shape != shape or self.acceleration.shape != shape:
            raise ValueError(f"position, velocity, acceleration must all be (N, n), position is {shape}")
        if self.host_ns.shape != shape[:1] or np.any(np.diff(self.host_ns) <= 0):
            raise ValueError("host_ns must be strictly increasing, one time per setpoint")
        for array in (self.host_ns, self.position, self.velocity, self.acceleration):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.host_ns)
