"""What moves the joints of a plant, and by which law."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mover", "PositionLaw"]


class Mover(Protocol):
    """Asked once per tick: the simulated drives' servo, or emulated drives, of n motors.

    name        the device that it belongs to
    period_s    from one tick to the next [s]; torque is held in between
    reference   setpoint in force: position, velocity, acceleration, shape (3 n,)
    brakes      which motors are held while their drive is off, shape (n,)
    """

    name: str
    period_s: float
    reference: NDArray[np.float64]
    brakes: NDArray[np.bool_]

    def update(self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Motor torque from t [s] to the next tick [N m], shape (n,); None: all drives are off. q, v: of its motors."""
        ...

    def trip(self, joint: str) -> None:
        """The drive of this joint finds a fault and switches itself off."""
        ...


class PositionLaw(Protocol):
    """A position servo for n axes that is tuned for its plant; called once per tick."""

    def reset(self) -> None:
        """Forget what was integrated."""
        ...

    def torque(
        self, q: NDArray[np.float64], v: NDArray[np.float64], reference: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Torque until the next call [N m], shape (n,); `reference`: position, velocity, acceleration, shape (3 n,)."""
        ...
