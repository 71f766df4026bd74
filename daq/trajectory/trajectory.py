"""A trajectory: a motion of all axes, sampled at the rate at which a drive takes up setpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.drivers.setpoints import Setpoints

__all__ = ["Trajectory"]

#: Velocity [rad/s] and acceleration [rad/s2] that count as none: rounding, far below any drive's resolution.
AT_REST = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """T samples of n axes; sample i is due i / rate_hz seconds after the first. Arrays are read-only.

    axes          names of the axes in order, n of them
    rate_hz       samples per second [Hz]
    position      [rad] or [m], shape (T, n)
    velocity      [rad/s] or [m/s], shape (T, n)
    acceleration  [rad/s2] or [m/s2], shape (T, n)
    """

    axes: tuple[str, ...]
    rate_hz: float
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    acceleration: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not 0.0 < self.rate_hz < np.inf:
            raise ValueError(f"rate_hz is {self.rate_hz}, must be positive")
        for label in ("position", "velocity", "acceleration"):
            array = np.array(getattr(self, label), dtype=np.float64)
            if array.ndim != 2 or len(array) == 0 or array.shape[1] != len(self.axes):
                raise ValueError(f"{label} has shape {array.shape}, must be (T, {len(self.axes)}) with T > 0")
            if array.shape != np.shape(self.position):
                raise ValueError(f"{label} has shape {array.shape}, position has {np.shape(self.position)}")
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):
                i, k = bad[0]
                raise ValueError(
                    f"{label} of {self.axes[k]} is {array[i, k]} at sample {i}, must be a number"
                )
            array.setflags(write=False)
            object.__setattr__(self, label, array)

    def __len__(self) -> int:
        return len(self.position)

    @property
    def duration_s(self) -> float:
        """From the first sample to the last [s]."""
        return (len(self) - 1) / self.rate_hz

    @property
    def time_s(self) -> NDArray[np.float64]:
        """When each sample is due, from the first [s], shape (T,)."""
        return np.arange(len(self)) / self.rate_hz

    @property
    def begins_at_rest(self) -> bool:
        """Neither velocity nor acceleration at the first sample."""
        return self._at_rest(0)

    @property
    def ends_at_rest(self) -> bool:
        """Neither velocity nor acceleration at the last sample."""
        return self._at_rest(-1)

    def then(self, other: Trajectory) -> Trajectory:
        """This motion, then `other`, which goes on where this one ends (the shared sample is kept once)."""
        if (self.axes, self.rate_hz) != (other.axes, other.rate_hz):
            raise ValueError(
                f"cannot join {self.axes} at {self.rate_hz} Hz and {other.axes} at {other.rate_hz} Hz; "
                "make both for the same axes and rate"
            )
        for label in ("position", "velocity", "acceleration"):
            end, begin = getattr(self, label)[-1], getattr(other, label)[0]
            k = int(np.argmax(np.abs(end - begin)))
            if abs(end[k] - begin[k]) > AT_REST:
                raise ValueError(
                    f"{label} of {self.axes[k]} jumps from {end[k]:.6g} to {begin[k]:.6g} where two motions "
                    "meet; put a minimum-jerk move between them"
                )
        return Trajectory(
            self.axes,
            self.rate_hz,
            np.concatenate([self.position, other.position[1:]]),
            np.concatenate([self.velocity, other.velocity[1:]]),
            np.concatenate([self.acceleration, other.acceleration[1:]]),
        )

    def chunks(self, start_ns: int, *, chunk_ns: int, sequence: int = 0) -> Iterator[Setpoints]:
        """The motion as timed setpoints, every sample once, in chunks of about `chunk_ns`.

        The first sample is due at host time `start_ns` [ns] and has number `sequence`. The final chunk is
        marked `last` if the motion ends at rest; one that does not is meant to be followed by more.
        """
        host_ns = start_ns + np.rint(np.arange(len(self)) * (1e9 / self.rate_hz)).astype(np.int64)
        step = max(1, round(chunk_ns * 1e-9 * self.rate_hz))
        for i in range(0, len(self), step):
            part = slice(i, i + step)
            yield Setpoints(
                sequence=sequence + i,
                host_ns=host_ns[part],
                position=self.position[part],
                velocity=self.velocity[part],
                acceleration=self.acceleration[part],
                last=i + step >= len(self) and self.ends_at_rest,
            )

    def _at_rest(self, i: int) -> bool:
        return bool(
            np.all(np.abs(self.velocity[i]) <= AT_REST) and np.all(np.abs(self.acceleration[i]) <= AT_REST)
        )
