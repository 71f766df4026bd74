"""The law of a good position servo: computed torque on the CAD model (003, Eq. 76).

    torque = inverse dynamics of the CAD model at (q, v, a) + prior friction at v_d
    a      = a_d + kd v_e + kp q_e + ki integral of q_e,   q_e = q_d - q,   v_e = v_d - v

It knows nothing of the true parameters or of a grasped object, so it makes the errors that a real drive makes; like a
real drive it integrates them away at rest. On a free base a is completed by the acceleration of the base that the
model then has, since nobody drives it. Where motors move several joints, q = C^-1 theta and the motors' torque is
C^-T times that.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from numpy.typing import NDArray

from heft.drivers.sim.friction import Friction
from heft.drivers.sim.model import Structure, compile_plant
from heft.drivers.sim.motors import SharedMotors
from heft.drivers.sim.robot import SimRobot
from heft.drivers.sim.suspension import BASE_COORDINATES

__all__ = ["ComputedTorque"]


class ComputedTorque:
    """For n motors, called once per servo period.

    bandwidth_hz  of the position loop, shape (n,)
    base          coordinates of a free base and their rates at present, shape (6,) each; (0,) of a fixed one
    """

    def __init__(
        self,
        robot: SimRobot,
        structure: Structure,
        bandwidth_hz: NDArray[np.float64],
        period_s: float,
        base: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64]]],
    ) -> None:
        self._coupling, self._motors = robot.coupling, SharedMotors.of(robot)
        self._model = compile_plant(
            robot, structure.inertias, robot.column("drive_inertia"), motors=self._motors
        )
        self._data = mujoco.MjData(self._model)
        self._base, self._mass = base if robot.free else None, np.zeros((self._model.nv, self._model.nv))
        self._friction = Friction(
            viscous=robot.column("viscous"),
            coulomb=robot.column("coulomb"),
            offset=robot.column("offset"),
            smoothing_velocity=robot.column("smoothing_velocity"),
        )
        omega = 2.0 * np.pi * bandwidth_hz
        # Poles at -omega, -omega and -omega / 10: stable up to twenty times the inertia that the CAD model has.
        self._kp, self._kd, self._ki = 1.2 * omega**2, 2.1 * omega, 0.1 * omega**3 * period_s
        self._integral = np.zeros(len(robot.joints))
        self._limit = robot.column("torque")

    def reset(self) -> None:
        """Forget what was integrated."""
        self._integral = np.zeros(len(self._limit))

    def torque(
        self, q: NDArray[np.float64], v: NDArray[np.float64], reference: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Torque from now to the next call [N m], shape (n,); `reference`: position, velocity, acceleration, (3 n,)."""
        n = len(q)
        q_d, v_d, a_d = reference[:n], reference[n : 2 * n], reference[2 * n :]
        if self._coupling is not None:
            q, v, q_d, v_d, a_d = self._coupling.to_joints(np.stack([q, v, q_d, v_d, a_d]))
        q_e = q_d - q
        integral = self._integral + self._ki * q_e
        a = a_d + self._kd * (v_d - v) + self._kp * q_e + integral
        wanted = self._inverse(q, v, a) + self._friction.torque(v_d)
        if self._coupling is not None and self._motors is not None:
            wanted = self._coupling.motor_torque(wanted + self._motors.friction(v_d))
        torque = np.minimum(np.maximum(wanted, -self._limit), self._limit)
        self._integral = np.where(
            torque == wanted, integral, self._integral
        )  # a saturated axis does not wind up
        return torque

    def _inverse(
        self, q: NDArray[np.float64], v: NDArray[np.float64], a: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Torques that give the joints the acceleration a [rad/s2] by the model [N m], shape (n,).

        On a free base M (a_b, a) + h = (0, torque): its first six rows give the base's acceleration a_b.
        """
        model, data = self._model, self._data
        if self._base is None:
            data.qpos, data.qvel, data.qacc = q, v, a
            mujoco.mj_inverse(model, data)
            torque: NDArray[np.float64] = data.qfrc_inverse
            return torque
        b = BASE_COORDINATES
        data.qpos[:b], data.qvel[:b] = self._base()
        data.qpos[b:], data.qvel[b:] = q, v
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fullM(model, data, self._mass)
        h = data.qfrc_bias - data.qfrc_passive
        mass = self._mass
        base = np.linalg.solve(mass[:b, :b], -h[:b] - mass[:b, b:] @ a)
        return mass[b:, :b] @ base + mass[b:, b:] @ a + np.asarray(h[b:])
