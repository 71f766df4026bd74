"""The setpoint in force over time, and the controlled stop when no more setpoints come."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

from heft.drivers.errors import CommandError, DriverError, UnderrunError
from heft.drivers.playback.setpoint_queue import SetpointQueue
from heft.drivers.playback.stop_ramp import StopRamp
from heft.drivers.setpoints import Setpoints

__all__ = ["MotionState", "SetpointFollower"]

_JUMP_RAD = 0.05  # a trajectory may not begin further away than this


class MotionState(Enum):
    """State of the axes."""

    OFF = auto()  # no torque; the brakes hold
    HOLD = auto()
    PLAY = auto()
    STOP = auto()  # on a ramp to rest


class SetpointFollower:
    """Follows setpoints for n axes; times are seconds since an instant of the owner's choice.

    reference     position, velocity, acceleration in force, shape (3 n,)
    slope         velocity and acceleration of the trajectory there, shape (n,) each: at rate 1 those of `reference`
    failure       why the axes came to rest by themselves; set when they have
    deceleration  of the controlled stop [rad/s2], shape (n,)
    """

    def __init__(self, name: str, axes: Sequence[str], deceleration: NDArray[np.float64]) -> None:
        self.name = name
        self.axes = tuple(axes)
        self.state = MotionState.OFF
        self.failure: DriverError | None = None
        self.reference = np.zeros(3 * len(self.axes))
        self.slope = (np.zeros(len(self.axes)), np.zeros(len(self.axes)))
        self._deceleration = deceleration
        self._queue = SetpointQueue()
        self._ramp: StopRamp | None = None
        self._ramp_start = 0.0
        self._off_after_ramp = False
        self._pending: DriverError | None = None  # becomes `failure` at rest

    @property
    def at_rest(self) -> bool:
        """Whether the setpoint in force is a standstill."""
        return self.state in (MotionState.OFF, MotionState.HOLD)

    @property
    def failing(self) -> bool:
        """Whether the axes have stopped, or are stopping, by themselves."""
        return self.failure is not None or self._pending is not None

    @property
    def deceleration(self) -> NDArray[np.float64]:
        return self._deceleration

    def arm(self, position: NDArray[np.float64]) -> None:
        """Hold `position` [rad], shape (n,)."""
        self.failure = self._pending = None
        self._off_after_ramp = False
        self._queue = SetpointQueue()
        self.hold_at(position)
        self.state = MotionState.HOLD

    def play(self, t: float, chunk: Setpoints, times: NDArray[np.float64]) -> None:
        """Queue a chunk whose setpoints are due at `times` [s], shape (N,); `t` is the present time [s].

        Raises CommandError where it is refused; if the drive has stopped or is stopping by itself, with that reason.
        """
        own = self.failure or self._pending
        if own is not None or self.state is MotionState.OFF or self.state is MotionState.STOP:
            why = (
                "the drives are off; arm first"
                if self.state is MotionState.OFF
                else "the drives are stopping"
            )
            message = str(own).removeprefix(f"{self.name}: ") if own else f"setpoints refused: {why}"
            raise CommandError(self.name, message)
        n = len(self.axes)
        if chunk.position.shape[1] != n:
            raise CommandError(self.name, f"setpoints for {chunk.position.shape[1]} axes, but there are {n}")
        if len(chunk) == 0:
            raise CommandError(self.name, "setpoints refused: the chunk is empty")
        expected = self._queue.next_sequence
        if chunk.sequence != expected and not (self.state is MotionState.HOLD and chunk.sequence > expected):
            raise CommandError(
                self.name,
                f"setpoints begin with number {chunk.sequence}, expected {expected}; a chunk was lost",
            )
        if times[0] <= max(t, self._queue.end):
            raise CommandError(
                self.name,
                f"the first setpoint is due at {times[0]:.4f} s, but it is {t:.4f} s and setpoints up to "
                f"{self._queue.end:.4f} s are queued; send further ahead",
            )
        if self._queue.empty:
            jump = np.abs(chunk.position[0] - self.reference[:n])
            if jump.max() > _JUMP_RAD:
                axis = int(jump.argmax())
                raise CommandError(
                    self.name,
                    f"the trajectory begins {jump[axis]:.3f} rad away from {self.axes[axis]}, bound {_JUMP_RAD} "
                    "rad; move to its start first",
                )
        self._queue.add(chunk, times)
        self.state = MotionState.PLAY

    def stop(self, t: float, failure: DriverError | None = None, *, then_off: bool = False) -> None:
        """Discard queued setpoints and come to rest on the stop ramp, from t [s] on; then hold, or switch off.

        With a `failure` no more setpoints are taken, and it is set at rest.
        """
        self._queue.clear()
        self._pending = self._pending or failure
        self._off_after_ramp = self._off_after_ramp or then_off
        if self.state is MotionState.PLAY or (failure is not None and self.state is MotionState.HOLD):
            self._begin_ramp(t)

    def off(self) -> None:
        """No torque; the brakes hold."""
        self._queue.clear()
        self.state = MotionState.OFF

    def hold_at(self, position: NDArray[np.float64]) -> None:
        """Set the reference to a standstill at `position` [rad], shape (n,)."""
        self.reference = np.concatenate([position, np.zeros(2 * len(position))])

    def follow(self, t: float, rate: float = 1.0) -> None:
        """Set `reference` to the setpoint in force at t [s] of a trajectory that is travelled `rate` times as fast."""
        if self.state is MotionState.PLAY:
            setpoint = self._queue.take(t)
            if setpoint is not None:
                position, velocity, acceleration = setpoint
                self.slope = velocity, acceleration
                self.reference = np.concatenate([position, rate * velocity, rate**2 * acceleration])
                if self._queue.finished(t):
                    self._queue.clear()
                    self.state = MotionState.HOLD
                elif self._queue.underrun(t):
                    last = self._queue.end
                    self._pending = UnderrunError(
                        self.name, f"no setpoint after {last:.4f} s; the drives stopped. Send further ahead"
                    )
                    self._queue.clear()
                    self._begin_ramp(t)
        if self.state is MotionState.STOP and self._ramp is not None:
            self.reference = np.concatenate(self._ramp.at(t - self._ramp_start))
            if t - self._ramp_start >= self._ramp.duration_s:
                self.state = MotionState.OFF if self._off_after_ramp else MotionState.HOLD
                self._off_after_ramp = False
                self.failure = self.failure or self._pending
                self._pending = None

    def _begin_ramp(self, t: float) -> None:
        n = len(self.axes)
        self._ramp = StopRamp.stopping(self.reference[:n], self.reference[n : 2 * n], self._deceleration)
        self._ramp_start = t
        self.state = MotionState.STOP
