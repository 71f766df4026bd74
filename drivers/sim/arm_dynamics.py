"""The plant: an arm that moves under held torque, integrated so finely that its step leaves no trace.

Semi-implicit Euler would lag by half a step and bias every drive inertia; here the classical fourth-order Runge-Kutta
method runs over MuJoCo's forward dynamics, with friction evaluated at every stage. Torque is constant over a step, so
nothing inside it is discontinuous.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from heft.drivers.errors import OptionError
from heft.drivers.plant.inertia import Inertia
from heft.drivers.sim.friction import Friction
from heft.drivers.sim.model import SENSED, Flexibility, compile_plant
from heft.drivers.sim.motors import SharedMotors
from heft.drivers.sim.robot import SimRobot
from heft.drivers.sim.suspension import BASE_COORDINATES, MOST_PITCH

__all__ = ["ArmDynamics"]

_NO_SKIP = int(mujoco.mjtStage.mjSTAGE_NONE)
Vector = NDArray[np.float64]
_PITCH = 4  # among the coordinates of a free base
#: Newton's method finds where a base hangs within a few steps; forces below this are rest [N, N m].
_NEWTON_STEPS, _NEWTON_ASIDE, _NEWTON_FORCE = 30, 1e-6, 1e-9


class _MujocoDynamics:
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

    def sensed(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """What is sensed in every frame of `SimRobot.sensed`, shape (frames, width of `SENSED`)."""
        self._invert(q, v, a)
        sensed: Vector = self._sensors.reshape(-1, sum(SENSED.values())).copy()
        return sensed

    def _invert(self, q: Vector, v: Vector, a: Vector) -> None:
        self._q[:], self._v[:], self._a[:] = q, v, a
        mujoco.mj_inverse(self._model, self._data)


class ArmDynamics:
    """State and motion of the simulated arm.

    A rigid arm has one coordinate per joint. With flexible joints each joint has two, the motor's and the spring's
    deflection; `motor` and `flex` pick them out. A free base has six more, before all others: `base`
    (`heft.drivers.sim.suspension`). `load` numbers what was ever held; 0 is the empty hand.

    q, v   state [rad], [rad/s], shape (ndof,)
    """

    def __init__(
        self,
        robot: SimRobot,
        inertias: Mapping[str, Inertia],
        drive_inertia: NDArray[np.float64],
        friction: Friction,
        *,
        motors: SharedMotors | None = None,
        flexibility: Flexibility | None = None,
        frictionloss: NDArray[np.float64] | None = None,
    ) -> None:
        self._robot = robot
        self._motors = motors
        self._inertias = dict(inertias)
        self._drive_inertia = drive_inertia
        self._flexibility = flexibility
        self._frictionloss = frictionloss
        self.friction = friction
        self._models: list[Any] = []  # by load
        self._sensing: list[_MujocoDynamics] = []  # by load
        self._hold(None)
        model = self._models[0]
        self._force = np.zeros(model.nv)
        stride = 1 if flexibility is None else 2
        first = BASE_COORDINATES if robot.free else 0
        self.base = slice(0, first)
        self.motor = slice(first, model.nv, stride)
        self.flex = None if flexibility is None else slice(first + 1, model.nv, stride)
        self.q = np.zeros(model.nv)
        self.v = np.zeros(model.nv)

    @property
    def ndof(self) -> int:
        """Number of coordinates."""
        return int(self._models[0].nv)

    def place(self, position: NDArray[np.float64]) -> None:
        """At rest with the links at `position` [rad], shape (n,); springs carry the weight."""
        self.q, self.v = np.zeros(self.ndof), np.zeros(self.ndof)
        self.q[self.motor] = position
        if self._robot.free:
            self._hang()
        if self.flex is not None and self._flexibility is not None:
            still = np.zeros(self.ndof)
            weight = self._sensing[self.load].force(self.q, still, still)  # as if the springs were stiff
            self.q[self.flex] = -weight[self.motor] / self._flexibility.stiffness
            self.q[self.motor] = position - self.q[self.flex]

    def grasp(self, body: str, inertia: Inertia) -> int:
        """From now on `body` carries `inertia` too (in the frame of `body`); returns the load's number."""
        self._hold((body, inertia))
        return self.load

    def drop(self) -> None:
        """The hand is empty again."""
        self._carry(0)

    def step(self, torque: NDArray[np.float64], h: float) -> None:
        """Move on by h [s] under the motors' torque on the joints [N m], shape (n,)."""
        q, v, half = self.q, self.v, 0.5 * h
        a1 = self._acceleration(q, v, torque)
        v2 = v + half * a1
        a2 = self._acceleration(q + half * v, v2, torque)
        v3 = v + half * a2
        a3 = self._acceleration(q + half * v2, v3, torque)
        v4 = v + h * a3
        a4 = self._acceleration(q + h * v3, v4, torque)
        middle = a2 + a3
        self.q = q + h * (v + h / 6.0 * (a1 + middle))
        self.v = v + h / 6.0 * (a1 + 2.0 * middle + a4)

    def sensed(
        self, q: NDArray[np.float64], v: NDArray[np.float64], a: NDArray[np.float64], load: int, frame: int
    ) -> NDArray[np.float64]:
        """What is sensed in a frame, given by its number in `SimRobot.sensed`; `SENSED` says what, shape (16,).

        force, torque    of the frame's body on the side of its parent on what lies beyond [N, N m], in the frame
        gyro             angular velocity [rad/s], accelerometer: acceleration less gravity [m/s2], in the frame
        framequat        orientation of the frame in the world, w x y z
        """
        return self._sensing[load].sensed(q, v, a)[frame]

    def _hang(self) -> None:
        """Find where the base hangs at rest: Newton's method on the forces that its six coordinates lack."""
        still, inverse = np.zeros(self.ndof), self._sensing[self.load]
        for _ in range(_NEWTON_STEPS):
            lacking = inverse.force(self.q, still, still)[self.base]
            slope = np.empty((BASE_COORDINATES, BASE_COORDINATES))
            for k in range(BASE_COORDINATES):
                aside = self.q.copy()
                aside[k] += _NEWTON_ASIDE
                slope[:, k] = (inverse.force(aside, still, still)[self.base] - lacking) / _NEWTON_ASIDE
            self.q[self.base] -= np.linalg.solve(slope, lacking)
            if np.abs(lacking).max() < _NEWTON_FORCE:
                break
        if self.overturned:
            raise OptionError(f"simulation.suspension: {self.overturned}")

    @property
    def overturned(self) -> str:
        """Why a free base cannot be moved on: it has pitched until its coordinates lose their meaning; or nothing."""
        pitch = float(self.q[_PITCH]) if self._robot.free else 0.0
        if abs(pitch) <= MOST_PITCH:
            return ""
        return (
            f"{self._robot.name} has pitched by {pitch:.2f} rad on its hook, bound {MOST_PITCH:g} rad; hang it higher, "
            "make the suspension stiffer (turning_stiffness), or move it less"
        )

    def joint_positions(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Link side of the joints [rad], shape (..., n), from coordinates (..., ndof)."""
        motor: NDArray[np.float64] = q[..., self.motor]
        return motor if self.flex is None else motor + q[..., self.flex]

    def _acceleration(
        self, q: NDArray[np.float64], v: NDArray[np.float64], torque: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        friction = self.friction.torque(v[self.motor])
        if self._motors is not None:
            friction = friction + self._motors.friction(v[self.motor])
        self._force[self.motor] = torque - friction
        return self._moving.acceleration(q, v, self._force)

    def _hold(self, load: tuple[str, Inertia] | None) -> None:
        """Compile a model that carries this load, and go on with it."""
        inertias = dict(self._inertias)
        if load is not None:
            body, inertia = load
            inertias[body] = inertias[body] + inertia if body in inertias else inertia
        model = compile_plant(
            self._robot,
            inertias,
            self._drive_inertia,
            motors=self._motors,
            flexibility=self._flexibility,
            frictionloss=self._frictionloss,
        )
        self._models.append(model)
        self._sensing.append(_MujocoDynamics(model))
        self._carry(len(self._models) - 1)

    def _carry(self, load: int) -> None:
        self.load = load
        self._moving = _MujocoDynamics(self._models[load])
