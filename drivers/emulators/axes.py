"""How emulated drives move the joints: one law per axis, one brake for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from drivers.emulators.plant import Plant
from drivers.errors import OptionError

__all__ = ["AxisGroup", "AxisLaw"]


class AxisLaw(Protocol):
    """One drive's control law: CSP with its position loop, an impedance, a torque."""

    @property
    def reference(self) -> tuple[float, float, float]:
        """Setpoint in force at the joint: position [rad], velocity, acceleration."""
        ...

    def torque(self, t: float, q: float, v: float) -> float | None:
        """Joint torque [N m] from t [s] on, for motor-side position and velocity; None: this drive is off."""
        ...

    def trip(self, message: str) -> None:
        """A fault on command switches the drive off."""
        ...


class AxisGroup:
    """The drives of one arm, as the plant's Mover.

    The brakes act on all joints together: they open when every drive is on, and close when one goes off. Torque
    is cut off at `limit` [N m], shape (n,).

    period_s   how often the laws are asked [s]: the drives' own loop
    """

    def __init__(
        self,
        name: str,
        plant: Plant,
        laws: Sequence[AxisLaw],
        *,
        period_s: float = 0.001,
        limit: NDArray[np.float64] | None = None,
    ) -> None:
        if len(laws) != len(plant.axes):
            raise OptionError(
                f"{name}: {len(laws)} drives, but the plant has {len(plant.axes)} joints ({', '.join(plant.axes)}); "
                "give each joint one"
            )
        self.name = name
        self.period_s = period_s
        self.reference = np.zeros(3 * len(laws))
        self._laws = tuple(laws)
        self._limit = np.full(len(laws), np.inf) if limit is None else limit
        plant.attach(self)

    def update(self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64] | None:
        states = zip(self._laws, q.tolist(), v.tolist(), strict=True)
        torques = [law.torque(t, position, velocity) for law, position, velocity in states]
        self.reference = np.array([law.reference for law in self._laws]).T.ravel()
        if any(torque is None for torque in torques):
            return None
        return np.clip(np.array(torques, dtype=np.float64), -self._limit, self._limit)

    def trip(self, message: str) -> None:
        for law in self._laws:
            law.trip(message)
