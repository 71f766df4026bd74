"""What a drive makes of setpoints: which one is in force, and how the axes come to rest when no more comes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

from drivers.errors import CommandError, DriverError, UnderrunError
from drivers.playlist import Playlist
from drivers.ramp import Ramp
from drivers.setpoints import Setpoints

__all__ = ["Follower", "Mode"]

_JUMP_RAD = 0.05  # a trajectory may not begin further away than this


class Mode(Enum):
    """What the axes do."""

    OFF = auto()  # no torque; the brakes hold
    HOLD = auto()
    PLAY = auto()
    STOP = auto()  # on a ramp to rest


class Follower:
    """Follows setpoints for n axes; times are seconds since an instant of the owner's choice.

    reference     position, velocity, acceleration in force, shape (3 n,)
    failure       why the axes came to rest by themselves; set when they have
    deceleration  of the controlled stop [rad/s2], shape (n,)
    """

    def __init__(self, name: str, axes: Sequence[str], deceleration: NDArray[np.float64]) -> None:
        self.name = name
        self.axes = tuple(axes)
        self.mode = Mode.OFF
        self.failure: DriverError | None = None
        self.reference = np.zeros(3 * len(self.axes))
        self._deceleration = deceleration
        self._playlist = Playlist()
        self._ramp: Ramp | None = None
        self._ramp_start = 0.0
        self._off_after_ramp = False
        self._pending: DriverError | None = None  # becomes `failure` at rest

    @property
    def at_rest(self) -> bool:
        """Is the setpoint in force a standstill?"""
        return self.mode in (Mode.OFF, Mode.HOLD)

    @property
    def giving_up(self) -> bool:
        """Do the axes stop for good?"""
        return self._off_after_ramp

    def arm(self, position: NDArray[np.float64]) -> None:
        """Hold `position` [rad], shape (n,)."""
        self.failure = self._pending = None
        self._off_after_ramp = False
        self._playlist = Playlist()
        self.stand(position)
        self.mode = Mode.HOLD

    def play(self, t: float, chunk: Setpoints, times: NDArray[np.float64]) -> None:
        """Queue a chunk whose setpoints are due at `times` [s], or say why not.

        Where the drive has stopped by itself, or is about to, that is the reason.
        """
        if self.mode is Mode.OFF or self.mode is Mode.STOP:
            why = "the drives are off; arm first" if self.mode is Mode.OFF else "the drives are stopping"
            own = self.failure or self._pending
            message = str(own).removeprefix(f"{self.name}: ") if own else f"setpoints refused: {why}"
            raise CommandError(self.name, message)
        n = len(self.axes)
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
                    f"the trajectory begins {jump[axis]:.3f} rad away from {self.axes[axis]}, bound {_JUMP_RAD} "
                    "rad; move to its start first",
                )
        self._playlist.add(chunk, times)
        self.mode = Mode.PLAY

    def stop(self, t: float) -> None:
        """Forget queued setpoints and come to rest by the ramp."""
        self._playlist.clear()
        if self.mode is Mode.PLAY:
            self._begin_ramp(t)

    def give_up(self, t: float, failure: DriverError) -> None:
        """Come to rest by the ramp, then switch off; `failure` is told at rest."""
        self._off_after_ramp = True
        self._pending = failure
        self._playlist.clear()
        self._begin_ramp(t)

    def off(self) -> None:
        """No torque; the brakes hold."""
        self._playlist.clear()
        self.mode = Mode.OFF

    def stand(self, position: NDArray[np.float64]) -> None:
        """The setpoint in force is a standstill at `position`, shape (n,)."""
        self.reference = np.concatenate([position, np.zeros(2 * len(position))])

    def follow(self, t: float) -> None:
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
        n = len(self.axes)
        self._ramp = Ramp.stopping(self.reference[:n], self.reference[n : 2 * n], self._deceleration)
        self._ramp_start = t
        self.mode = Mode.STOP
