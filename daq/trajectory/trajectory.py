"""Motions of all axes, sampled at the rate at which a drive takes up setpoints.

A `Motion` can be asked for any of its samples: hours of it need take no more memory than seconds. A `Trajectory` has
all of them in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.drivers.setpoints import Setpoints

__all__ = ["PIECE", "Motion", "Trajectory"]

#: Velocity [rad/s] and acceleration [rad/s2] that count as none: rounding, far below any drive's resolution.
AT_REST = 1e-9


#: Samples that are computed at a time: 10 s at 1 kHz, and 2 MB for seven joints.
PIECE = 10_000


class Motion(ABC):
    """T samples of n axes; sample i is due i / rate_hz seconds after the first."""

    __slots__ = ()

    axes: tuple[str, ...]
    rate_hz: float

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def window(self, begin: int, end: int) -> Trajectory:
        """Samples `begin` to `end` (not included), of those that there are; at least one."""

    @property
    def duration_s(self) -> float:
        """From the first sample to the last [s]."""
        return (len(self) - 1) / self.rate_hz

    @property
    def start(self) -> Trajectory:
        """The first sample."""
        return self.window(0, 1)

    @property
    def goal(self) -> Trajectory:
        """The last sample."""
        return self.window(len(self) - 1, len(self))

    @property
    def begins_at_rest(self) -> bool:
        """Neither velocity nor acceleration at the first sample."""
        return self.start.stands

    @property
    def ends_at_rest(self) -> bool:
        """Neither velocity nor acceleration at the last sample."""
        return self.goal.stands

    def pieces(self) -> Iterator[Trajectory]:
        """All samples in order, piece by piece; each begins with the last sample of the one before."""
        for begin in range(0, len(self), PIECE):
            yield self.window(max(begin - 1, 0), min(begin + PIECE, len(self)))

    def chunks(self, start_ns: int, *, chunk_ns: int, sequence: int = 0) -> Iterator[Setpoints]:
        """The motion as timed setpoints, every sample once, in chunks of about `chunk_ns`.

        The first sample is due at host time `start_ns` [ns] and has number `sequence`. The final chunk is
        marked `last` if the motion ends at rest; one that does not is meant to be followed by more.
        """
        step = max(1, round(chunk_ns * 1e-9 * self.rate_hz))
        for i in range(0, len(self), step):
            part = self.window(i, i + step)
            last = i + step >= len(self) and part.window(len(part) - 1, len(part)).stands
            yield part.setpoints(start_ns, sequence + i, last=last)


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory(Motion):
    """A motion with all its samples in memory, or a piece of one. Arrays are read-only.

    axes          names of the axes in order, n of them
    rate_hz       samples per second [Hz]
    position      [rad] or [m], shape (T, n)
    velocity      [rad/s] or [m/s], shape (T, n)
    acceleration  [rad/s2] or [m/s2], shape (T, n)
    first         number of its first sample in the motion that it is a piece of
    """

    axes: tuple[str, ...]
    rate_hz: float
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    acceleration: NDArray[np.float64]
    first: int = 0

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
    def time_s(self) -> NDArray[np.float64]:
        """When each sample is due, from the first of the whole motion [s], shape (T,)."""
        return (self.first + np.arange(len(self))) / self.rate_hz

    @property
    def stands(self) -> bool:
        """Neither velocity nor acceleration at any sample."""
        return bool(np.all(np.abs(self.velocity) <= AT_REST) and np.all(np.abs(self.acceleration) <= AT_REST))

    def window(self, begin: int, end: int) -> Trajectory:
        part = slice(begin, end)
        return Trajectory(
            self.axes,
            self.rate_hz,
            self.position[part],
            self.velocity[part],
            self.acceleration[part],
            self.first + begin,
        )

    def joined(self, others: Sequence[Trajectory]) -> Trajectory:
        """These samples, then those of the pieces that follow."""
        parts = [self, *others]
        return Trajectory(
            self.axes,
            self.rate_hz,
            np.concatenate([part.position for part in parts]),
            np.concatenate([part.velocity for part in parts]),
            np.concatenate([part.acceleration for part in parts]),
            self.first,
        )

    def setpoints(self, start_ns: int, sequence: int, *, last: bool = False) -> Setpoints:
        """As timed setpoints from number `sequence` on, where the whole motion begins at host time `start_ns` [ns]."""
        numbers = self.first + np.arange(len(self))
        host_ns = start_ns + np.rint(numbers * (1e9 / self.rate_hz)).astype(np.int64)
        return Setpoints(sequence, host_ns, self.position, self.velocity, self.acceleration, last)

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
        return self.joined([other.window(1, len(other))]) if len(other) > 1 else self
