"""What a motion may use: the bounds of every axis, and how the drives brake when they are stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Brake", "Limits", "at_rest_from"]

Array = NDArray[np.float64]

#: The controlled stop (`heft.drivers.playback.stop_ramp`): deceleration at most 1.5 |v| / duration, way v duration / 2.
RAMP_PEAK = 1.5
SHORTEST_STOP_S = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Brake:
    """How the drives of one device come to rest: all its axes slow down together, none harder than its deceleration.

    joints        places of the joints that they move, shape (m,)
    deceleration  of each motor [rad/s2], shape (m,)
    coupling      motor velocities = C joint velocities (m, m); None: each motor moves one joint
    """

    joints: NDArray[np.intp]
    deceleration: Array
    coupling: Array | None = None

    def duration(self, velocity: Array) -> Array:
        """How long a stop takes [s], shape (T,), from velocities of these joints [rad/s], shape (T, m)."""
        motors = velocity if self.coupling is None else velocity @ self.coupling.T
        longest: Array = np.max(RAMP_PEAK * np.abs(motors) / self.deceleration, axis=1, initial=0.0)
        bounded: Array = np.maximum(longest, SHORTEST_STOP_S)
        return bounded


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Bounds of n axes: position within `lower`, `upper` [rad], |velocity| [rad/s], |acceleration| [rad/s2].

    Each has shape (n,). `brakes` are those of the devices that move the axes; axes without one are not followed
    through a stop.
    """

    axes: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    brakes: tuple[Brake, ...] = ()

    def __post_init__(self) -> None:
        for label in ("lower", "upper", "velocity", "acceleration"):
            array = np.array(getattr(self, label), dtype=np.float64)
            if array.shape != (len(self.axes),):
                raise ValueError(
                    f"{label} has shape {array.shape}, must have one value for each of {self.axes}"
                )
            array.setflags(write=False)
            object.__setattr__(self, label, array)
        for label, wrong in (
            ("upper position limit is not above the lower one", self.upper <= self.lower),
            ("velocity limit is not positive", ~(self.velocity > 0.0)),
            ("acceleration limit is not positive", ~(self.acceleration > 0.0)),
        ):
            if np.any(wrong):
                raise ValueError(
                    f"{self.axes[int(np.argmax(wrong))]}: the {label}; put it right in the robot's file"
                )

    def at_rest_from(self, position: Array, velocity: Array) -> Array:
        """Where a stop that begins in these states would end [rad]; all of shape (T, n)."""
        return at_rest_from(self.brakes, position, velocity)


def at_rest_from(brakes: Sequence[Brake], position: Array, velocity: Array) -> Array:
    """Where a stop that begins in these states would end [rad]; all of shape (T, n).

    The joints of a device stay on a straight line, so nowhere on the way are they further out than at its ends.
    """
    end = position.copy()
    for brake in brakes:
        moving = velocity[:, brake.joints]
        end[:, brake.joints] += 0.5 * brake.duration(moving)[:, None] * moving
    return end
