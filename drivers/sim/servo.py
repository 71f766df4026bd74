"""The drive's position servo: computed torque on the CAD model (003, Eq. 76), at a fixed rate.

    torque = inverse dynamics of the CAD model at (q, v, a) + prior friction at v_d
    a      = a_d + kd (v_d - v) + kp (q_d - q) + ki integral of (q_d - q)

It knows nothing of the true parameters or of a grasped object, so it makes the errors that a real drive makes; like a
real drive it integrates them away at rest. The torque is held from one tick to the next, and it is this torque that
the drive's current reports.
"""

from __future__ import annotations

from enum import Enum, auto

import mujoco
import numpy as np
from numpy.typing import NDArray

from drivers.errors import CommandError, DeviceFault, DriverError, UnderrunError
from drivers.ramp import Ramp
from drivers.setpoints import Setpoints
from drivers.sim.friction import Friction
from drivers.sim.model import Structure, compile_plant
from drivers.sim.playlist import Playlist
from drivers.sim.robot import SimRobot

__all__ = ["Mode", "Servo"]

_JUMP_RAD = 0.05  # a trajectory may not begin further away than this


class Mode(Enum):
    """What the drive does."""

    OFF = auto()  # no torque; the brakes hold
    HOLD = auto()
    PLAY = auto()
    STOP = auto()  # on a ramp to rest


class Servo:
    """One servo for all axes; times are seconds since the world's start.

    `failure` is set when the drive has stopped by itself: out of setpoints, host silent, or a drive fault.
    """

    def __init__(
        self,
        name: str,
        robot: SimRobot,
        structure: Structure,
        *,
        bandwidth_hz: NDArray[np.float64],
        period_s: float,
        watchdog_s: float | None,
    ) -> None:
        self.name = name
        self.period_s = period_s
        self.watchdog_s = watchdog_s
        self.mode = Mode.OFF
        self.failure: DriverError | None = None
        self.reference = np.zeros(3 * len(robot.joints))  # position, velocity, acceleration in force
        self._robot = robot
        self._model = compile_plant(robot, structure.inertias, robot.column("drive_inertia"))
        self._data = mujoco.MjData(self._model)
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
        self._deceleration = robot.column("acceleration")
        self._playlist = Playlist()
        self._ramp: Ramp | None = None
        self._ramp_start = 0.0
        self._off_after_ramp = False
        self._pending: DriverError | None = None  # becomes `failure` at rest
        self._heard = 0.0

    @property
    def at_rest(self) -> bool:
        """Is the setpoint in force a standstill?"""
        return self.mode in (Mode.OFF, Mode.HOLD)

    def hear(self, t: float) -> None:
        """The host is alive."""
        self._heard = t

    def arm(self, position: NDArray[np.float64]) -> None:
        """Take over from the brakes, where the motors are."""
        self.failure = self._pending = None
        self._off_after_ramp = False
        self._playlist = Playlist()
        self._integral = np.zeros(len(position))
        self._refer(position)
        self.mode = Mode.HOLD

    def play(self, t: float, chunk: Setpoints, times: NDArray[np.float64]) -> None:
        """Queue a chunk whose setpoints are due at `times` [s], or say why not."""
        if self.mode is Mode.OFF or self.mode is Mode.STOP:
            why = "the drives are off; arm first" if self.mode is Mode.OFF else "the drives are stopping"
            raise CommandError(self.name, f"setpoints refused: {why}")
        n = len(self._robot.joints)
        if chunk.position.shape[1] != n:
            raise CommandError(self.name, f"setpoints for {chunk.position.shape[1]} axes, but there are {n}")
        if len(chunk) == 0:
            raise CommandError(self.name, "setpoints refused: the chunk is empty")
        expected = self._playlist.next_sequence
        if chunk.sequence != expected and not (self.mode is Mode.HOLD and chunk.sequence > expected):
            raise CommandError(
                self.name,
                f"setpoints begin with number {chunk.sequence}, expected {expected}; a chunk was lost",
            )
        if times[0] <= max(t, self._playlist.end):
            raise CommandError(
                self.name,
                f"the first setpoint is due at {times[0]:.4f} s, but it is {t:.4f} s and setpoints up to "
                f"{self._playlist.end:.4f} s are queued; send further ahead",
            )
        if self._playlist.empty:
            jump = np.abs(chunk.position[0] - self.reference[:n])
            if jump.max() > _JUMP_RAD:
                axis = int(jump.argmax())
                raise CommandError(
                    self.name,
                    f"the trajectory begins {jump[axis]:.3f} rad away from {self._robot.axes[axis]}, bound {_JUMP_RAD} "
                    "rad; move to its start first",
                )
        self._playlist.add(chunk, times)
        self.mode = Mode.PLAY

    def stop(self, t: float) -> None:
        """Forget queued setpoints and come to rest by the ramp."""
        self._playlist.clear()
        if self.mode is Mode.PLAY:
            self._begin_ramp(t)

    def off(self) -> None:
        """No torque; the brakes hold."""
        self._playlist.clear()
        self.mode = Mode.OFF

    def trip(self, message: str) -> None:
        """The drive finds a fault and switches itself off."""
        self.off()
        self.failure = DeviceFault(self.name, message)

    def update(self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Torque from this tick to the next [N m], shape (n,); None: the brakes hold. q, v: motor side."""
        if self.mode is not Mode.OFF:
            self._guard(t)
            self._follow(t)
        if self.mode is Mode.OFF:
            self._refer(q)
            return None
        n = len(q)
        q_d, v_d, a_d = self.reference[:n], self.reference[n : 2 * n], self.reference[2 * n :]
        q_e, data = q_d - q, self._data
        integral = self._integral + self._ki * q_e
        data.qpos, data.qvel, data.qacc = q, v, a_d + self._kd * (v_d - v) + self._kp * q_e + integral
        mujoco.mj_inverse(self._model, data)
        wanted = data.qfrc_inverse + self._friction.torque(v_d)
        torque = np.minimum(np.maximum(wanted, -self._limit), self._limit)
        self._integral = np.where(
            torque == wanted, integral, self._integral
        )  # a saturated axis does not wind up
        return torque

    def _guard(self, t: float) -> None:
        """The drive's own watchdog: a silent host means stop, then brakes."""
        if self.watchdog_s is None or self._off_after_ramp or t - self._heard <= self.watchdog_s:
            return
        self._off_after_ramp = True
        self._pending = DeviceFault(
            self.name,
            f"watchdog: the host was silent for more than {self.watchdog_s:g} s; the drives stopped",
        )
        self._playlist.clear()
        self._begin_ramp(t)

    def _follow(self, t: float) -> None:
        """Bring `reference` to time t."""
        if self.mode is Mode.PLAY:
            setpoint = self._playlist.take(t)
            if setpoint is not None:
                self.reference = np.concatenate(setpoint)
                if self._playlist.finished(t):
                    self._playlist.clear()
                    self.mode = Mode.HOLD
                elif self._playlist.dry(t):
                    last = self._playlist.end
                    self._pending = UnderrunError(
                        self.name, f"no setpoint after {last:.4f} s; the drives stopped. Send further ahead"
                    )
                    self._playlist.clear()
                    self._begin_ramp(t)
        if self.mode is Mode.STOP and self._ramp is not None:
            self.reference = np.concatenate(self._ramp.at(t - self._ramp_start))
            if t - self._ramp_start >= self._ramp.duration_s:
                self.mode = Mode.OFF if self._off_after_ramp else Mode.HOLD
                self._off_after_ramp = False
                self.failure = self.failure or self._pending
                self._pending = None

    def _begin_ramp(self, t: float) -> None:
        n = len(self._robot.joints)
        self._ramp = Ramp.stopping(self.reference[:n], self.reference[n : 2 * n], self._deceleration)
        self._ramp_start = t
        self.mode = Mode.STOP

    def _refer(self, position: NDArray[np.float64]) -> None:
        self.reference = np.concatenate([position, np.zeros(2 * len(position))])
