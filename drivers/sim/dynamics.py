"""MuJoCo's dynamics of one model, as functions of the state."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = ["Dynamics"]

_NO_SKIP = int(mujoco.mjtStage.mjSTAGE_NONE)
Vector = NDArray[np.float64]


class Dynamics:
    """Forward and inverse dynamics of an MjModel; vectors have one entry per degree of freedom.

    Views into MjData are kept: making them costs as much as copying through them. One user each: the constraint
    solver starts from what was asked last, so two users of one instance would see each other in the last digits.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._data = data = mujoco.MjData(model)
        self._q, self._v, self._a = data.qpos, data.qvel, data.qacc
        self._applied, self._inverse, self._sensors = data.qfrc_applied, data.qfrc_inverse, data.sensordata

    def acceleration(self, q: Vector, v: Vector, force: Vector) -> Vector:
        """What generalised forces [N m] lead to [rad/s2]."""
        self._q[:], self._v[:], self._applied[:] = q, v, force
        mujoco.mj_forwardSkip(self._model, self._data, _NO_SKIP, 1)
        a: Vector = self._a.copy()
        return a

    def force(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """The generalised forces [N m] that an acceleration [rad/s2] needs."""
        self._invert(q, v, a)
        force: Vector = self._inverse.copy()
        return force

    def wrench(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Force [N] and torque [N m] of the wrist's sensor on what it carries, in the sensor's frame, shape (6,)."""
        self._invert(q, v, a)
        wrench: Vector = self._sensors.copy()
        return wrench

    def _invert(self, q: Vector, v: Vector, a: Vector) -> None:
        self._q[:], self._v[:], self._a[:] = q, v, a
        mujoco.mj_inverse(self._model, self._data)
