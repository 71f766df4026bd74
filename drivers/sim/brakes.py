"""Brakes of the joints whose drives are off while other drives move the arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.drivers.plant.mover import PositionLaw

__all__ = ["Brakes"]


class Brakes:
    """Takes the speed of n joints away evenly within `brake_s`, each from when its drive went off, then holds it.

    law   as stiff as a brake: its torque holds the joints
    """

    def __init__(self, law: PositionLaw, n: int, brake_s: float) -> None:
        self._law, self._brake_s = law, brake_s
        self._held = np.zeros(n, dtype=np.bool_)
        self._since, self._q, self._v = np.zeros(n), np.zeros(n), np.zeros(n)

    def torque(
        self, t: float, q: NDArray[np.float64], v: NDArray[np.float64], on: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """What the brakes do from t [s] on [N m], shape (n,); nothing to joints whose drive is `on`."""
        applied = ~on & ~self._held
        if applied.any():
            self._law.reset()
        self._since = np.where(applied, t, self._since)
        self._q, self._v = np.where(applied, q, self._q), np.where(applied, v, self._v)
        self._held = ~on
        dt = np.minimum(t - self._since, self._brake_s)
        rest = dt >= self._brake_s
        share = 1.0 - dt / self._brake_s
        position = np.where(on, q, self._q + self._v * dt * (1.0 - 0.5 * dt / self._brake_s))
        velocity = np.where(on, v, self._v * share)
        acceleration = np.where(on | rest, 0.0, -self._v / self._brake_s)
        torque = self._law.torque(q, v, np.concatenate([position, velocity, acceleration]))
        return np.where(on, 0.0, torque)
