"""Base of the drivers of drives on a CAN bus: all axes of an arm as one Actuator."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from heft.drivers.devices.bus.block_builder import BlockBuilder
from heft.drivers.devices.bus.bus_driver import BusDriver, BusOptions
from heft.drivers.driver import Actuator, Context
from heft.drivers.errors import CommandError, DeviceFault, DeviceLost, DriverError
from heft.drivers.options import Options, Positive
from heft.drivers.playback.played_stream import played_stream
from heft.drivers.playback.setpoint_follower import MotionState, SetpointFollower
from heft.drivers.setpoints import Setpoints

__all__ = ["AxisOptions", "CanDrives", "DriveOptions", "TurnAxisOptions"]

_REST_RAD_S = 0.02
_REST_TIMEOUT_S = 0.5
_FIRST_S = 2.0  # for every axis to report where it is
_SETTLE_S = 2.0  # [s] that an arm may still tremble before it is armed: another device of it has just been
_CATCH_UP = 1.1  # rate of setpoint time while catching up

D = TypeVar("D", bound="DriveOptions")


class AxisOptions(Options):
    """Of one axis, whatever its drive."""

    #: Of the controlled stop [rad/s2]: from 2 rad/s it takes 0.3 s.
    deceleration: Positive = 10.0


class TurnAxisOptions(AxisOptions):
    """Of one axis whose drive counts turns of the motor (or of its own output)."""

    #: Turns of the motor for one of the joint; negative where it turns the other way.
    gear: float = 1.0
    #: What the drive reads where the joint's position is 0 [turn].
    zero: float = 0.0

    @model_validator(mode="after")
    def _turns(self) -> Self:
        if self.gear == 0.0:
            raise ValueError("gear: 0 turns of the motor for one of the joint; 1 where there is no gear")
        return self

    @property
    def sign(self) -> float:
        """1, or -1 where motor and joint turn against each other."""
        return math.copysign(1.0, self.gear)

    @property
    def scale(self) -> float:
        """[rad] of the joint for one turn of the motor."""
        return 2.0 * math.pi / self.gear


class DriveOptions(BusOptions):
    """Of every group of drives."""

    #: The drives stop by themselves when this host has been silent for so long [s].
    watchdog_s: Positive = 0.2
    #: Largest number of cycles by which setpoints jump ahead at once after this host was late; drives that interpolate
    #: on while SYNC is missing allow more.
    catch_up: Annotated[int, Field(ge=1)] = 2
    #: Why the drives may be armed without a watchdog of their own. Only where there is nothing better.
    without_watchdog: Annotated[str, Field(min_length=10)] | None = None


class CanDrives(BusDriver[D], Actuator):
    """Yields `NAME.motion` (n positions, n velocities), `NAME.current` or `NAME.torque` (n), and `NAME.played`.

    Setpoints are followed on this host (`SetpointFollower`): each cycle commands the one that is due. When a drive
    fails or falls silent, all others slow down at their deceleration and then switch off.
    """

    Options: ClassVar[type[DriveOptions]]

    def __init__(self, name: str, options: D, context: Context, axes: Sequence[AxisOptions]) -> None:
        super().__init__(name, options, context, context.axes)
        self.axes = context.axes
        self.watchdog_s: float | None = options.watchdog_s
        self._follower = SetpointFollower(name, self.axes, np.array([a.deceleration for a in axes]))
        self._epoch_ns = self._due_ns = self._followed_ns = self.clock.now_ns()
        self._armed = False
        self._reported: set[int] = set()  # axes that have reported their position
        n = len(self.axes)
        self._raw_position: list[float] = [0.0] * n
        self._raw_velocity: list[float] = [0.0] * n
        motion = self._assembler.streams[0]
        self._scale, self._offset = motion.scale, motion.offset
        # A velocity cannot be told from zero by less than the drive's resolution.
        step = np.abs(self._scale[n : 2 * n]) if motion.dtype == "<i4" else np.zeros(n)
        self._rest = np.maximum(_REST_RAD_S, 2.0 * step)
        self._played = BlockBuilder(
            played_stream(name, self.axes, options.rate_hz), self._block, self._publish
        )
        self._others = (self._played,)

    # -- what drivers add ---------------------------------------------------------------------------------------------

    @abstractmethod
    async def _enable(self) -> None:
        """Switch every drive on, holding the follower's reference; DeviceFault names those that do not come."""

    @abstractmethod
    async def _disable(self) -> None:
        """Switch every drive off, from standstill or not."""

    def _check_range(self, chunk: Setpoints) -> None:
        """CommandError where setpoints cannot be sent."""

    # -- life ---------------------------------------------------------------------------------------------------------

    async def _open(self) -> None:
        self._reported.clear()
        self._armed = False
        self._follower.off()
        await super()._open()

    def _may_reconnect(self) -> bool:
        return not self._armed

    async def __aexit__(self, *exc: object) -> None:
        try:
            with suppress(DriverError):
                await self.disarm()
        finally:
            await super().__aexit__(*exc)

    async def _start(self) -> None:
        await self._until(
            lambda: len(self._reported) == len(self.axes) or self._failure is not None, _FIRST_S
        )
        if isinstance(self._failure, DriverError):
            raise self._failure
        if len(self._reported) < len(self.axes):
            silent = [axis for i, axis in enumerate(self.axes) if i not in self._reported]
            raise DeviceLost(
                self.name,
                f"{self._link.where}: {self._who(silent)} told no position within {_FIRST_S:g} s; {self.CHECK}",
            )

    # -- commands -----------------------------------------------------------------------------------------------------

    async def arm(self) -> None:
        self._require_watchdog()
        self._require_bus()
        await self._until(self._stands_still, _SETTLE_S)
        position, velocity = self._measured()
        if not self._stands_still():
            fastest = int((np.abs(velocity) - self._rest).argmax())
            raise CommandError(
                self.name,
                f"cannot arm while {self.axes[fastest]} moves at {velocity[fastest]:.3f} rad/s (bound "
                f"{self._rest[fastest]:.3f} rad/s); wait until the arm stands",
            )
        self._failure = None
        self._follower.arm(position)
        self._armed = True
        try:
            await self._enable()
        except BaseException:
            self._armed = False
            self._follower.off()
            with suppress(DriverError):
                await self._disable()
            raise

    async def position(self) -> NDArray[np.float64]:
        self._require_bus()
        return self._measured()[0]

    async def play(self, chunk: Setpoints) -> None:
        self._check_range(chunk)
        times = np.asarray(chunk.host_ns - self._epoch_ns, dtype=np.float64) * 1e-9
        self._follower.play(self._seconds(self.clock.now_ns()), chunk, times)

    async def hold(self) -> None:
        if not self._armed:
            return
        self._require_bus()
        self._follower.stop(self._seconds(self._followed_ns))
        await self._until(self._at_rest, _REST_TIMEOUT_S)

    async def disarm(self) -> None:
        if not self._armed:
            return
        self._armed = False
        self._follower.off()
        self._require_bus()
        await self._disable()

    # -- what drivers use ---------------------------------------------------------------------------------------------

    def _store_state(self, axis: int, position: float, velocity: float | None = None) -> None:
        """Store the position and velocity that an axis reported, in the drive's units."""
        self._raw_position[axis] = position
        if velocity is not None:
            self._raw_velocity[axis] = velocity
        self._reported.add(axis)

    def _follow(self, due_ns: int) -> NDArray[np.float64]:
        """The setpoint due at `due_ns`: position, velocity, acceleration, shape (3 n,).

        After this host was late, setpoint time jumps ahead by at most `catch_up` cycles and then runs 1.1 times as fast
        until it has caught up.
        """
        follower = self._follower
        passed_ns = min(due_ns - self._due_ns, self.options.catch_up * self._period_ns)
        self._due_ns = due_ns
        if follower.state is MotionState.OFF:
            follower.hold_at(self._measured()[0])
            self._followed_ns = due_ns
            return follower.reference
        if follower.state is MotionState.HOLD:
            self._followed_ns = due_ns
        self._followed_ns = min(due_ns, self._followed_ns + round(_CATCH_UP * passed_ns))
        self._check_lag((due_ns - self._followed_ns) * 1e-9)
        follower.follow(self._seconds(self._followed_ns))
        if follower.failure is not None and self._failure is None:
            self._fail(follower.failure)
        return follower.reference

    def _check_lag(self, lag_s: float) -> None:
        """Report a fault if setpoints are sent later than the watchdog time."""
        if self._armed and lag_s > self.options.watchdog_s:
            self._report_fault(
                DeviceFault(
                    self.name,
                    f"this host commands the drives {lag_s:.3f} s late, bound {self.options.watchdog_s:g} s "
                    "(watchdog_s); look for what blocks it, give it fewer tasks or a higher priority, or lower rate_hz",
                )
            )

    def _report_fault(self, fault: DeviceFault) -> None:
        """Keep the first fault: the other axes then slow down and switch off."""
        if self._failure is None:
            self._fail(fault)

    def _fail(self, exc: Exception) -> None:
        first, follower = self._failure is None, self._follower
        super()._fail(exc)
        by_itself = exc is follower.failure  # then the axes are at rest already
        if first and isinstance(exc, DriverError) and not by_itself and follower.state is not MotionState.OFF:
            follower.stop_and_disable(self._seconds(self._followed_ns), exc)

    def _measured(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position [rad] and velocity [rad/s], as last reported, shape (n,) each."""
        n = len(self.axes)
        raw = np.array([*self._raw_position, *self._raw_velocity], dtype=np.float64)
        si = raw * self._scale[: 2 * n] + self._offset[: 2 * n]
        return si[:n], si[n:]

    def _at_rest(self) -> bool:
        return self._follower.at_rest and self._stands_still()

    def _stands_still(self) -> bool:
        return bool((np.abs(self._measured()[1]) <= self._rest).all())

    def _seconds(self, t_ns: int) -> float:
        return (t_ns - self._epoch_ns) * 1e-9

    def _require_bus(self) -> None:
        """Raise DriverError unless the tasks run."""
        if not self._alive:
            if isinstance(self._failure, DriverError):
                raise self._failure
            raise self._not_connected()

    def _require_watchdog(self) -> None:
        if self.watchdog_s is None and self.options.without_watchdog is None:
            raise CommandError(
                self.name,
                f"{self._unwatched()} without a watchdog of its own: if this program hangs, the arm goes on. Arming "
                "is refused; set it up, or say under `without_watchdog` in the rig's file why it may be armed anyway",
            )

    def _unwatched(self) -> str:
        """The axes without a watchdog, in words."""
        return "the drives are"
