"""A rig that stands by: every stream is read, watched and published, and nothing moves.

For services that wait for something to happen. It keeps no recording of the whole, which would never end. Where the
operator has armed it, it plays single short motions that a service in this process asks for; they pass the checks
that a session's trajectories pass, and are watched like them. Between two motions the drives are on and hold the arm.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daq import topics
from daq.bus.endpoint import Endpoint
from daq.bus.telemetry import Publisher
from daq.clock import HostClock
from daq.config.rig import RigConfig
from daq.config.session import WatchConfig
from daq.errors import CheckError, SafetyStop
from daq.motion.plan import limits_of
from daq.motion.player import Player
from daq.motion.sent import sent_block, sent_stream
from daq.motion.state import State
from daq.motion.watch import Watch
from daq.rig import Rig
from daq.session.halt import halt
from daq.session.ledger import Ledger
from daq.session.observer import Observer, Observers
from daq.session.progress import Progress
from daq.session.side_by_side import first_samples, start, watch_silence
from daq.trajectory.checks import Check, limit_checks, run_checks
from daq.trajectory.trajectory import Trajectory
from drivers.block import Block
from drivers.driver import Actuator, Driver
from drivers.errors import CommandError, HeftError
from drivers.setpoints import Setpoints
from drivers.stream import Role, Stream

__all__ = ["Standby", "StandbyEnd"]

_log = logging.getLogger("heft.session")

_LOOK_NS = 20_000_000
_PROGRESS_NS = 200_000_000

#: A motion that begins at rest where the drives hold the arm [rad], shape (n,).
Motion = Callable[[NDArray[np.float64]], Trajectory]


@dataclass(frozen=True, slots=True)
class StandbyEnd:
    """How it ended: `done` where it was asked to while nothing moved."""

    state: State
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class _Wish:
    """A motion that is asked for, and the answer: whether it was played to its end."""

    motion: Motion
    played: asyncio.Future[bool]


class Standby:
    """`await Standby(...).run()` until `stop`, or until a device is lost.

    `armed`: the operator allows motions; else `play` refuses. `checks` come on top of position, velocity and
    acceleration. `rate_hz` is that of the setpoints.
    """

    def __init__(
        self,
        config: RigConfig,
        *,
        clock: HostClock,
        telemetry: Endpoint | str,
        seed: int = 0,
        armed: bool = False,
        rate_hz: float = 1000.0,
        checks: Sequence[Check] = (),
        watch: WatchConfig | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.config, self.armed, self.rate_hz = config, armed, rate_hz
        self.rig = Rig(config, clock, seed)
        self._clock, self._checks = clock, checks
        self._publisher = Publisher(telemetry)
        self._ledger, self._progress = Ledger(), Progress()
        self._watch = Watch(config.robot.joints, watch or WatchConfig())
        self._observers = Observers(observers)
        self._arm = self.rig.actuators[0] if armed and self.rig.actuators else None
        self._sent = None if self._arm is None else sent_stream(self._arm.name, config.robot.axes, rate_hz)
        self._player = Player(clock, self._send)  # of all motions: the drives count setpoints
        self._wishes: deque[_Wish] = deque()
        self._end: StandbyEnd | None = None
        self._ceased = False
        self._setpoint: NDArray[np.float64] | None = None  # in force, as the drives tell it
        self._state = State.IDLE
        self._interruptible: asyncio.Task[Any] | None = None

    @property
    def streams(self) -> tuple[Stream, ...]:
        """All that is told: what the devices yield, and where it is armed, the setpoints sent."""
        measured = tuple(stream for driver in self.rig for stream in driver.streams)
        return measured if self._sent is None else (*measured, self._sent)

    def watch_too(self, observer: Observer) -> None:
        """One more observer; before it runs."""
        self._observers.add(observer)

    def stop(self, reason: str) -> None:
        """End it, as an operator does; in the middle of a motion that is an abort."""
        moving = self._state is State.MOVING
        self._finish(StandbyEnd(State.ABORTED if moving else State.DONE, reason))

    def publish(self, topic: str, facts: Mapping[str, Any]) -> None:
        """Tell everyone on the bus."""
        self._publisher.publish_json(topic, facts)

    async def play(self, motion: Motion) -> bool:
        """Play a motion from where the drives hold the arm when its turn has come; whether it was played to its end.

        A load pulls the arm a little away from there: a motion from where it is measured would begin with a jerk.
        CommandError if it is not armed, CheckError if the motion may not be played from there.
        """
        if self._arm is None:
            raise CommandError(self.config.name, "a motion was asked for, but the operator has not armed it")
        wish = _Wish(motion, asyncio.get_running_loop().create_future())
        self._wishes.append(wish)
        if self._end is not None:
            self._leave_wishes()
        return await wish.played

    def cease(self) -> None:
        """No more of the motion that is being played, and none of those that wait: the arm comes to rest, armed."""
        self._leave_wishes()
        if self._state is State.MOVING and not self._ceased:
            self._ceased = True
            self._interrupt()

    async def run(self) -> StandbyEnd:
        """Connect, read, wait; whatever ends it, the arm is brought to rest and switched off."""
        async with self._publisher, AsyncExitStack() as stack:
            stack.enter_context(self._clock.participant("standby"))
            try:
                await self._work(stack)
            except Exception as exc:
                self._blame(exc)
            except asyncio.CancelledError:
                _uncancel()
                self.stop("cancelled")
            self._watch.armed = False
            if self._state is not State.IDLE:
                await halt(self.rig, self._clock, self._watch, lambda event, device: None, self._blame)
            self._leave_wishes()
        end = self._end or StandbyEnd(State.DONE, "")
        self._observers.state(str(end.state), end.reason)
        return end

    async def _work(self, stack: AsyncExitStack) -> None:
        """All that its end interrupts, by cancelling it."""
        self._interruptible = asyncio.current_task()
        try:
            self._go_on()
            await stack.enter_async_context(self.rig)
            self._enter(State.CONNECTED)
            self._start_tasks(stack)
            await first_samples(self.rig, self._clock, self._ledger, self._watch)
            if self._arm is not None:
                self._go_on()
                self._watch.armed = True
                await self._arm.arm()
                self._enter(State.ARMED)
            while True:
                self._go_on()
                await self._sleep(_LOOK_NS)
                if self._arm is not None and self._wishes:
                    await self._grant(self._wishes.popleft(), self._arm)
        finally:
            self._interruptible = None

    def _go_on(self) -> None:
        """Not if its end was asked for: a cancellation may get lost in what it interrupts (`asyncio.wait_for` before
        Python 3.12 forgets one that meets the answer), so it is looked for before each step, too.
        """
        if self._end is not None or self._ceased:
            raise asyncio.CancelledError

    # -- motions ------------------------------------------------------------------------------------------------------

    async def _grant(self, wish: _Wish, arm: Actuator) -> None:
        try:
            trajectory = wish.motion(await arm.position() if self._setpoint is None else self._setpoint)
            run_checks(trajectory, [*limit_checks(limits_of(self.config.robot.joints)), *self._checks])
        except HeftError as exc:
            wish.played.set_exception(exc)
            return
        played = False
        try:
            played = await self._move(trajectory, arm)
        finally:
            if not wish.played.done():
                wish.played.set_result(played)

    async def _move(self, trajectory: Trajectory, arm: Actuator) -> bool:
        """Whether it was played to its end. One that ceases leaves the arm at rest, armed."""
        self._enter(State.MOVING)
        try:
            await self._player.play(trajectory)
        except asyncio.CancelledError:
            if self._end is not None or not self._ceased:
                raise
            _uncancel()
            self._watch.forget_setpoints()
            await arm.hold()
        played, self._ceased = not self._ceased, False
        self._enter(State.ARMED)
        return played

    async def _send(self, chunk: Setpoints) -> None:
        assert self._arm is not None
        assert self._sent is not None
        self._go_on()
        await self._arm.play(chunk)
        self._watch.sent(chunk)
        self._take(sent_block(self._sent, chunk))

    def _leave_wishes(self) -> None:
        while self._wishes:
            wish = self._wishes.popleft()
            if not wish.played.done():
                wish.played.set_result(False)

    # -- reading ------------------------------------------------------------------------------------------------------

    def _start_tasks(self, stack: AsyncExitStack) -> None:
        for stream in self.streams:
            self._ledger.expect(stream)
        work = {f"reader {driver.name}": self._read(driver) for driver in self.rig}
        work |= {"watch": watch_silence(self._clock, self._watch), "progress": self._tell_progress()}
        start(stack, work, self._blame)

    async def _read(self, driver: Driver) -> None:
        async for block in driver:
            self._take(block)

    def _take(self, block: Block) -> None:
        try:
            self._watch.judge(block)
        except SafetyStop as exc:
            if self._state is State.MOVING:  # an overload while nothing moves here is another's business
                self._blame(exc)
        if block.stream.role is Role.PLAYED:
            self._setpoint = block.si[-1, block.stream.indices("position")]
        self._ledger.enter(block)
        self._publisher.publish(block)
        self._observers.block(block)

    async def _tell_progress(self) -> None:
        while True:
            await self._sleep(_PROGRESS_NS)
            snapshot = self._progress.snapshot(
                self._clock.now_ns(), self._state, self._ledger, self._watch.worst_tracking
            )
            self._publisher.publish_json(topics.PROGRESS, snapshot)
            self._observers.progress(snapshot)

    # -- its end ------------------------------------------------------------------------------------------------------

    def _enter(self, state: State) -> None:
        self._state = state
        self._publisher.publish_json(topics.STATE, {"state": str(state), "reason": ""})
        self._observers.state(str(state), "")

    def _blame(self, exc: Exception) -> None:
        if not isinstance(exc, HeftError):
            _log.error("internal error", exc_info=exc)
        state = State.ABORTED if isinstance(exc, SafetyStop | CheckError) else State.FAILED
        self._finish(StandbyEnd(state, str(exc) or type(exc).__name__))

    def _finish(self, end: StandbyEnd) -> None:
        if self._end is not None:
            return
        self._end = end
        self._interrupt()

    def _interrupt(self) -> None:
        if self._interruptible is not None:
            self._interruptible.cancel()  # itself too: then it ends where it waits next

    async def _sleep(self, ns: int) -> None:
        await self._clock.sleep_until(self._clock.now_ns() + ns)


def _uncancel() -> None:
    """The cancellation was a request, and is being answered."""
    task = asyncio.current_task()
    while task is not None and task.uncancel():
        pass
