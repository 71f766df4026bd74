"""Base of the drivers of drives that follow setpoints cycle by cycle: all axes of an arm as one Actuator."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from heft.drivers.devices.bus.block_builder import BlockBuilder
from heft.drivers.devices.bus.cycle_driver import CycleDriver, CycleOptions
from heft.drivers.driver import Actuator, Context
from heft.drivers.errors import CommandError, DeviceFault, DeviceLost, DriverError, RestError
from heft.drivers.options import Options, Positive
from heft.drivers.playback.path_time import PathTime
from heft.drivers.playback.played_stream import played_stream
from heft.drivers.playback.rest import REST_RAD_S, REST_S, not_at_rest, rest_bound_s
from heft.drivers.playback.setpoint_follower import MotionState, SetpointFollower
from heft.drivers.setpoints import Setpoints

__all__ = ["AxisOptions", "FollowingDrives", "FollowingOptions", "TurnAxisOptions"]

_FIRST_S = 2.0  # for every axis to report where it is
_SETTLE_S = 2.0  # [s] that an arm may still tremble before it is armed: another device of it has just been
_DECELERATION = 10.0  # [rad/s2] where neither the rig's nor the robot's file says one

D = TypeVar("D", bound="FollowingOptions")
In = TypeVar("In")
Out = TypeVar("Out")


class AxisOptions(Options):
    """Of one axis, whatever its drive."""

    #: Of the controlled stop [rad/s2], at most 1.5 |v| / deceleration long; left out: the joint's acceleration limit.
    deceleration: Positive | None = None
    #: Whether a brake holds the axis while its drive is off. Without one it falls: docs/safety.md.
    brake: bool = True


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


class FollowingOptions(CycleOptions):
    """Of every group of drives, whatever line they are on."""

    #: The drives stop by themselves when this host has been silent for so long [s].
    watchdog_s: Positive = 0.2
    #: Cycles without a setpoint for which the drives go on by themselves at the same velocity; after a longer gap the
    #: arm goes on slowly from where it is. 1: they stay where they are.
    catch_up: Annotated[int, Field(ge=1)] = 1
    #: Why the drives may be armed without a watchdog of their own. Only where there is nothing better.
    without_watchdog: Annotated[str, Field(min_length=10)] | None = None
    #: Why the drives may be switched off though an axis has no brake: where the arm then rests, or what balances it.
    off_without_brake: Annotated[str, Field(min_length=10)] | None = None
    #: How positions are known to count from the joints' zero after switching on, where the drives do not tell:
    #: absolute encoders at the joints, say, or homed whenever they are switched on.
    referenced: Annotated[str, Field(min_length=10)] | None = None


class FollowingDrives(CycleDriver[D, In, Out], Actuator, Generic[D, In, Out]):
    """Yields `NAME.motion` (n positions, n velocities), `NAME.current` or `NAME.torque` (n), and `NAME.played`.

    Setpoints are followed on this host (`SetpointFollower`): each cycle commands the one that is due. When a drive
    fails or falls silent, all others slow down at their deceleration and hold; `disarm` switches them off.
    """

    Options: ClassVar[type[FollowingOptions]]

    def __init__(self, name: str, options: D, context: Context, axes: Sequence[AxisOptions]) -> None:
        super().__init__(name, options, context, context.axes)
        self.axes = context.axes
        self.watchdog_s: float | None = options.watchdog_s
        limits = context.limits
        own = np.full(len(self.axes), _DECELERATION) if limits is None else limits.acceleration
        given = [a.deceleration for a in axes]
        self.deceleration = np.array(
            [stated if d is None else d for stated, d in zip(own, given, strict=True)]
        )
        self._brakes = np.array([a.brake for a in axes], dtype=np.bool_)
        self._follower = SetpointFollower(name, self.axes, self.deceleration)
        self._cycle = 0  # of the next one, by which setpoints are numbered where axes send rows by themselves
        self._epoch_ns = self.clock.now_ns()
        self._path = PathTime(
            self._period_ns,
            self._bridged_cycles,
            None if limits is None else limits.velocity,
            own,
            self._epoch_ns,
        )
        self._armed = False
        self._pose_confirmed = False
        self._reported: set[int] = set()  # axes that have reported their position
        n = len(self.axes)
        self._raw_position: list[float] = [0.0] * n
        self._raw_velocity: list[float] = [0.0] * n
        motion = self._assembler.streams[0]
        self._scale, self._offset = motion.scale, motion.offset
        # A velocity cannot be told from zero by less than the drive's resolution.
        step = np.abs(self._scale[n : 2 * n]) if motion.dtype == "<i4" else np.zeros(n)
        self._rest = np.maximum(REST_RAD_S, 2.0 * step)
        self._heard_ns = [0] * n  # when each axis reported last
        self._rested_ns: int | None = None  # since when all axes are at rest
        self._played = BlockBuilder(
            played_stream(name, self.axes, self._cycle_hz), self._block, self._publish
        )
        self._others = (self._played,)

    # -- what drivers add ---------------------------------------------------------------------------------------------

    @property
    def _bridged_cycles(self) -> int:
        """Cycles without a setpoint for which the drives go on by themselves at the same velocity; 1: none."""
        return self.options.catch_up

    @abstractmethod
    async def _enable(self) -> None:
        """Switch every drive on, holding the follower's reference; DeviceFault names those that do not come."""

    @abstractmethod
    async def _disable(self) -> None:
        """Switch every drive off, but for those that hold axes without a brake by themselves and may go on."""

    @abstractmethod
    def _powered(self) -> bool:
        """Whether every drive says that it is on."""

    def _quick_stop(self) -> None:
        """Let the drives come to rest by their own means, where they have such."""

    def _holds_alone(self) -> bool:
        """Whether axes without a brake are held by their drives, without this host."""
        return False

    def _relative(self, axis: int) -> str | None:
        """Why the position of an axis may be relative, or None; what the drive itself says goes before `referenced`."""
        if self.options.referenced is not None:
            return None
        return "its drive does not tell whether it counts from the joint's zero"

    def _check_range(self, chunk: Setpoints) -> None:
        """CommandError where setpoints cannot be sent."""

    # -- life ---------------------------------------------------------------------------------------------------------

    def redirect(self, endpoint: Mapping[str, Any]) -> None:
        super().redirect(endpoint)
        self._pose_confirmed = True  # an emulator moves nothing real

    @property
    def unreferenced(self) -> Mapping[str, str]:
        whys = ((axis, self._relative(i)) for i, axis in enumerate(self.axes))
        return {axis: why for axis, why in whys if why is not None}

    def confirm_pose(self) -> None:
        self._pose_confirmed = True

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
        self._require_brakes()
        self._require_reference()
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

    @property
    def holding(self) -> bool:
        return self._alive and self._powered() and self._at_rest() and not self._silent_axes()

    @property
    def rest_bound_s(self) -> float:
        n = len(self.axes)
        fastest = np.maximum(np.abs(self._measured()[1]), np.abs(self._follower.reference[n : 2 * n]))
        return rest_bound_s(fastest, self.deceleration)

    async def hold(self) -> None:
        if not self._armed:
            return
        self._require_bus()
        bound_s = self.rest_bound_s
        self._begin_stop()
        if not await self._until(self._rested, bound_s):
            self._require_bus()
            raise self._not_at_rest(bound_s, "the drives stay on and hold")

    async def disarm(self) -> None:
        if not self._armed:
            return
        error = None
        if self._alive and not self._at_rest():
            bound_s = self.rest_bound_s
            self._begin_stop()
            self._quick_stop()
            if not await self._until(self._rested, bound_s):
                moving = self._moving()
                if moving.any() and not self._brakes[moving].all():
                    raise self._not_at_rest(
                        bound_s, "it has no brake, so the drives stay on for as long as this program runs"
                    )
                error = self._not_at_rest(bound_s, "the drives were switched off, and the brakes stop it")
        self._armed = False
        self._follower.off()
        self._require_bus()
        await self._disable()
        if error is not None:
            raise error

    # -- what drivers use ---------------------------------------------------------------------------------------------

    def _store_state(self, axis: int, position: float, velocity: float | None = None) -> None:
        """Store the position and velocity that an axis reported, in the drive's units."""
        self._raw_position[axis] = position
        if velocity is not None:
            self._raw_velocity[axis] = velocity
        self._heard_ns[axis] = self.clock.now_ns()
        self._reported.add(axis)

    def _leave_out(self, cycles: int) -> None:
        super()._leave_out(cycles)
        self._cycle += cycles

    def _skip(self, cycles: int) -> None:
        super()._skip(cycles)
        self._cycle += cycles

    def _follow(self, due_ns: int, told_ns: int | None = None) -> NDArray[np.float64]:
        """The setpoint due at `due_ns`: position, velocity, acceleration, shape (3 n,).

        After this host was late the trajectory is travelled later (`PathTime`), not faster than the axes may move.
        `told_ns` is when the drives put it in force: now, unless they are told the instant with it.
        """
        follower, path = self._follower, self._path
        told_ns = self.clock.now_ns() if told_ns is None else told_ns
        if follower.state is MotionState.OFF:
            follower.hold_at(self._measured()[0])
            path.rest(due_ns, told_ns)
            return follower.reference
        if follower.state is MotionState.HOLD:
            path.rest(due_ns, told_ns)
        else:
            stopping = follower.state is MotionState.STOP
            path.advance(due_ns, told_ns, *follower.slope, stopping=stopping)
            if not stopping:
                self._check_lag((due_ns - path.now_ns) * 1e-9)
        follower.follow(self._seconds(path.now_ns), path.rate)
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
        """Keep the first fault: the other axes then slow down and hold."""
        if self._failure is None:
            self._fail(fault)

    def _fail(self, exc: Exception) -> None:
        first, follower = self._failure is None, self._follower
        super()._fail(exc)
        by_itself = exc is follower.failure  # then the axes are at rest already
        if first and isinstance(exc, DriverError) and not by_itself and follower.state is not MotionState.OFF:
            self._begin_stop(exc)

    def _begin_stop(self, failure: DriverError | None = None) -> None:
        """Slow down from where the setpoints are; then hold."""
        self._follower.stop(self._seconds(self._path.now_ns), failure)
        self._path.ramp()

    def _measured(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position [rad] and velocity [rad/s], as last reported, shape (n,) each."""
        n = len(self.axes)
        raw = np.array([*self._raw_position, *self._raw_velocity], dtype=np.float64)
        si = raw * self._scale[: 2 * n] + self._offset[: 2 * n]
        return si[:n], si[n:]

    def _moving(self) -> NDArray[np.bool_]:
        """Which axes move, by their last word; one that has fallen silent says nothing, shape (n,)."""
        moving = np.abs(self._measured()[1]) > self._rest
        moving[self._silent_axes()] = False
        return moving

    def _silent_axes(self) -> list[int]:
        """Axes that have not reported for `timeout_s`."""
        since_ns = self.clock.now_ns() - round(self.options.timeout_s * 1e9)
        return [i for i, heard_ns in enumerate(self._heard_ns) if heard_ns < since_ns]

    def _at_rest(self) -> bool:
        return self._follower.at_rest and not self._moving().any()

    def _rested(self) -> bool:
        """Whether the axes have been at rest for a while."""
        now_ns = self.clock.now_ns()
        if not self._at_rest():
            self._rested_ns = None
            return False
        self._rested_ns = self._rested_ns or now_ns
        return now_ns - self._rested_ns >= 1e9 * REST_S

    def _not_at_rest(self, bound_s: float, consequence: str) -> RestError:
        velocity = np.where(self._moving(), self._measured()[1], 0.0)
        return not_at_rest(self.name, self.axes, velocity, self._rest, bound_s, consequence)

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

    def _require_brakes(self) -> None:
        loose = [axis for axis, brake in zip(self.axes, self._brakes, strict=True) if not brake]
        if loose and self.options.off_without_brake is None and not self._holds_alone():
            raise CommandError(
                self.name,
                f"{self._who(loose)} has no brake, and nothing holds it when the drives are switched off or this "
                "program ends: the arm falls. Arming is refused; say under `off_without_brake` in the rig's file where "
                "it then rests or what balances it (docs/safety.md)",
            )

    def _require_reference(self) -> None:
        doubts = {} if self._pose_confirmed else self.unreferenced
        if doubts:
            axis, why = next(iter(doubts.items()))
            raise CommandError(
                self.name,
                f"the position of {self._who(tuple(doubts))} may be relative: of {axis}, {why}. Then every "
                "limit would be "
                "checked at a wrong place. Arming is refused; home it, say under `referenced` in the rig's file "
                "how its "
                "zero is known, or confirm the pose at the terminal",
            )

    def _unwatched(self) -> str:
        """The axes without a watchdog, in words."""
        return "the drives are"
