"""A rig that stands by: every stream is read, watched and published, and nothing moves.

For services that wait for something to happen. It keeps no recording of the whole, which would never end. Where the
operator has armed it, it plays single short motions that a service in this process asks for; they pass the checks
that a session's trajectories pass, and are watched like them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from daq import topics
from daq.bus.endpoint import Endpoint
from daq.bus.telemetry import Publisher
from daq.clock import HostClock
from daq.config.rig import RigConfig
from daq.config.session import WatchConfig
from daq.errors import CheckError, SafetyStop
from daq.motion.plan import limits_of
from daq.motion.player import Player
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
from drivers.stream import Stream

__all__ = ["Standby", "StandbyEnd"]

_log = logging.getLogger("heft.session")

_LOOK_NS = 20_000_000
_PROGRESS_NS = 200_000_000


@dataclass(frozen=True, slots=True)
class StandbyEnd:
    """How it ended: `done` where it was asked to."""

    state: State
    reason: str


class Standby:
    """`await Standby(...).run()` until `stop`, or until a device is lost.

    `armed`: the operator allows motions; else `play` refuses. `checks` come on top of position, velocity and
    acceleration.
    """

    def __init__(
        self,
        config: RigConfig,
        *,
        clock: HostClock,
        telemetry: Endpoint | str,
        seed: int = 0,
        armed: bool = False,
        checks: Sequence[Check] = (),
        watch: WatchConfig | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.config, self.armed = config, armed
        self.rig = Rig(config, clock, seed)
        self._clock, self._checks = clock, checks
        self._publisher = Publisher(telemetry)
        self._ledger, self._progress = Ledger(), Progress()
        self._watch = Watch(config.robot.joints, watch or WatchConfig())
        self._observers = Observers(observers)
        self._motions: deque[Trajectory] = deque()
        self._end: StandbyEnd | None = None
        self._state = State.IDLE
        self._interruptible: asyncio.Task[Any] | None = None

    @property
    def moving(self) -> bool:
        """Is a motion being played, or about to be?"""
        return self._state is State.MOVING or bool(self._motions)

    @property
    def streams(self) -> tuple[Stream, ...]:
        """All that the rig yields."""
        return tuple(stream for driver in self.rig for stream in driver.streams)

    def watch_too(self, observer: Observer) -> None:
        """One more observer; before it runs."""
        self._observers.add(observer)

    def stop(self, reason: str) -> None:
        """End it, as an operator does."""
        self._finish(StandbyEnd(State.DONE, reason))

    def publish(self, topic: str, facts: Mapping[str, Any]) -> None:
        """Tell everyone on the bus."""
        self._publisher.publish_json(topic, facts)

    def play(self, motion: Trajectory) -> None:
        """Ask for a motion from where the arm stands; CommandError if not armed, CheckError if it may not be played."""
        if not self.armed:
            raise CommandError(self.config.name, "a motion was asked for, but the operator has not armed it")
        run_checks(motion, [*limit_checks(limits_of(self.config.robot.joints)), *self._checks])
        self._motions.append(motion)

    async def run(self) -> StandbyEnd:
        """Connect, read, wait; whatever ends it, the arm is brought to rest and switched off."""
        async with self._publisher, AsyncExitStack() as stack:
            stack.enter_context(self._clock.participant("standby"))
            try:
                await self._connect(stack)
                await self._wait()
            except Exception as exc:
                self._blame(exc)
            except asyncio.CancelledError:
                self.stop("cancelled")
            self._watch.armed = False
            if self._state is not State.IDLE:
                await halt(self.rig, self._clock, self._watch, lambda event, device: None, self._blame)
        end = self._end or StandbyEnd(State.DONE, "")
        self._observers.state(str(end.state), end.reason)
        return end

    async def _connect(self, stack: AsyncExitStack) -> None:
        """All that its end interrupts, by cancelling it."""
        if self._end is not None:
            return
        self._interruptible = asyncio.current_task()
        try:
            await stack.enter_async_context(self.rig)
            self._enter(State.CONNECTED)
            self._start_tasks(stack)
            await first_samples(self.rig, self._clock, self._ledger, self._watch)
        finally:
            self._interruptible = None

    async def _wait(self) -> None:
        arm = self.rig.actuators[0] if self.armed and self.rig.actuators else None
        if arm is not None and self._end is None:
            self._watch.armed = True
            await arm.arm()
            self._enter(State.ARMED)
        while self._end is None:
            await self._sleep(_LOOK_NS)
            if arm is not None and self._motions:
                await self._move(arm, self._motions[0])
                self._motions.popleft()

    async def _move(self, arm: Actuator, motion: Trajectory) -> None:
        async def send(chunk: Setpoints) -> None:
            if self._end is not None:
                raise SafetyStop(self._end.reason)
            await arm.play(chunk)
            self._watch.sent(chunk)

        self._enter(State.MOVING)
        await Player(self._clock, send).play(motion)
        self._enter(State.ARMED)

    # -- reading ------------------------------------------------------------------------------------------------------

    def _start_tasks(self, stack: AsyncExitStack) -> None:
        for driver in self.rig:
            for stream in driver.streams:
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
        if self._interruptible is not None:
            self._interruptible.cancel()

    async def _sleep(self, ns: int) -> None:
        await self._clock.sleep_until(self._clock.now_ns() + ns)
