"""The core of every acquisition: one rig connected, read, watched, accounted for, moved and stopped.

A session (`heft.daq.session.session`) adds a plan, a recorder and an end; a rig that stands by
(`heft.daq.session.standby`) adds motions that are asked for while it waits.

Tasks, all named: one reader per device, the watch, the progress, the stop listener, and the conductor, which alone
decides when to arm, move and stop. Any of the others may ask it to stop; the first reason counts. Whatever happens, it
stops in one order: trajectory, hold, drives off, sensors off.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, ClassVar

from heft.daq.bus.endpoint import Endpoints
from heft.daq.bus.runtime import announced
from heft.daq.bus.stop import StopListener
from heft.daq.clock import HostClock
from heft.daq.config.rig import RigConfig
from heft.daq.config.session import WatchConfig
from heft.daq.errors import CheckError, RemoteError, SafetyStop
from heft.daq.motion.arm import Arm
from heft.daq.motion.judge import SetpointJudge
from heft.daq.motion.sent import sent_block, sent_stream
from heft.daq.motion.state import State, StateMachine
from heft.daq.motion.watch import Watch
from heft.daq.priority import bring_threads_along
from heft.daq.rig import Rig
from heft.daq.session.halt import halt
from heft.daq.session.ledger import Ledger
from heft.daq.session.motion_control import MotionControl
from heft.daq.session.progress import Progress
from heft.daq.session.sink import Sink, Sinks
from heft.daq.trajectory.checks import Check
from heft.drivers.block import Block
from heft.drivers.driver import Driver
from heft.drivers.errors import CommandError, DeviceFault, DeviceLost, HeftError
from heft.drivers.setpoints import Setpoints
from heft.drivers.stream import Stream

__all__ = ["Acquisition", "End"]

_log = logging.getLogger("heft.session")

_FIRST_SAMPLE_NS = 2_000_000_000  # every stream must have begun within this
_WATCH_NS = 20_000_000
_PROGRESS_NS = 200_000_000
_CLOCKS_EVERY = 5  # reports of progress between two of the devices' clocks


@dataclass(frozen=True, slots=True)
class End:
    """The final state and its reason."""

    state: State
    reason: str


class Acquisition(ABC):
    """Reads one rig and hands every block to its sinks; what it is for is in `_perform`.

    name      under which another terminal finds it
    rate_hz   of the setpoints
    bounds    of the watch over every sample
    moves     whether the rig's arm may be moved
    sinks     in the order in which they are served
    checks    of every setpoint that arrives, on top of the limits (torque)
    """

    #: Whether its motions may be paused.
    PAUSABLE: ClassVar[bool] = False

    def __init__(
        self,
        config: RigConfig,
        *,
        name: str,
        clock: HostClock,
        endpoints: Endpoints,
        seed: int,
        rate_hz: float,
        bounds: WatchConfig,
        moves: bool,
        sinks: Sequence[Sink],
        checks: Sequence[Check] = (),
    ) -> None:
        self.rig = Rig(config, clock, seed, name=name)
        self._name, self._clock, self._endpoints, self._bounds = name, clock, endpoints, bounds
        self._sinks = Sinks(sinks, self._blame)
        self._ledger, self._progress = Ledger(), Progress()
        limits = config.limits
        self._watch = Watch(config.robot.joints, bounds, config.robot.motor_coupling, limits.brakes)
        self._machine = StateMachine(self._on_state)
        actuators = {actuator.name: actuator for actuator in self.rig.actuators}
        arm = Arm(config, actuators, clock) if moves and actuators else None
        self._sent = None if arm is None else sent_stream(arm.name, config.robot.axes, rate_hz)
        self._motion = MotionControl(
            config.name,
            arm,
            clock,
            endpoints.control,
            outside=endpoints.outside.get("control"),
            state=lambda: self.state,
            judge=SetpointJudge(limits, rate_hz, checks),
            on_sent=self._on_sent,
            on_refused=self._blame,
            on_paused=self._on_paused,
            on_resumed=self._on_resumed,
            pausable=self.PAUSABLE,
            before=self._check_stop,
        )
        self._end: End | None = None  # as asked for
        self._before_pause = State.ARMED
        self._lost: set[str] = set()  # devices that fell silent
        self._interruptible: asyncio.Task[Any] | None = None

    @abstractmethod
    async def _perform(self) -> None:
        """What it is for: called when every stream has been heard, cancelled when a stop is asked for."""

    @abstractmethod
    def stop(self, reason: str) -> None:
        """Ask for a controlled stop, as an operator does."""

    @property
    def state(self) -> State:
        """Where it stands."""
        return self._machine.state

    @property
    def streams(self) -> tuple[Stream, ...]:
        """All that the sinks are handed: what the devices yield, and the setpoints sent where it may move."""
        measured = tuple(stream for driver in self.rig for stream in driver.streams)
        return measured if self._sent is None else (*measured, self._sent)

    def add_sink(self, sink: Sink) -> None:
        """One more; before it runs."""
        self._sinks.add(sink)

    # -- the conductor ------------------------------------------------------------------------------------------------

    async def _acquire(self) -> End:
        """From connecting to the final state, which is entered whatever the conductor runs into."""
        for stream in self.streams:
            self._ledger.expect(stream)
        try:
            await asyncio.create_task(self._conduct(), name="conductor")
        except Exception as exc:
            self._blame(exc)
        end = self._end or End(State.DONE, "")
        self._machine.finish(end.state, end.reason)
        return end

    async def _conduct(self) -> None:
        """Connect, read, perform, stop; simulated time waits for it."""
        async with AsyncExitStack() as stack:
            stack.enter_context(self._clock.participant("conductor"))
            try:
                await self._work(stack)
            except asyncio.CancelledError:
                uncancel()
                self.stop("cancelled")
            except Exception as exc:
                self._blame(exc)
            if self.state is not State.IDLE:
                await self._halt()

    async def _work(self, stack: AsyncExitStack) -> None:
        """All that a request to stop interrupts, by cancelling it."""
        self._interruptible = asyncio.current_task()
        try:
            self._check_stop()
            listeners = {
                f"stop listener at {at}": await stack.enter_async_context(StopListener(at))
                for at in (self._endpoints.stop, self._endpoints.outside.get("stop"))
                if at is not None
            }
            await stack.enter_async_context(self._motion)
            stack.enter_context(announced(self._name, self._endpoints))
            self._start(stack, {name: self._listen_for_stop(one) for name, one in listeners.items()})
            await stack.enter_async_context(self.rig)
            self._machine.enter(State.CONNECTED)
            bring_threads_along()  # all are there
            tasks = {f"reader {driver.name}": self._read(driver) for driver in self.rig}
            tasks |= {"watch": self._watch_silence(), "progress": self._report_progress()}
            if self.rig.cell is not None:
                tasks["emulated cell"] = self.rig.cell.watch()
            self._start(stack, tasks)
            await self._first_samples()
            await self._perform()
        finally:
            self._interruptible = None

    def _check_stop(self) -> None:
        """Raise CancelledError where a stop was asked for.

        A cancellation may get lost in what it interrupts (`asyncio.wait_for` before Python 3.12 forgets one that meets
        the answer), so it is looked for before each step as well.
        """
        if self._end is not None:
            raise asyncio.CancelledError

    async def _arm(self) -> None:
        """Switch the drives on, where it may move."""
        self._check_stop()
        if self._motion.arm is not None:
            if self._watch.unfollowed:
                raise CommandError(
                    self._motion.arm.name,
                    f"does not tell the setpoints in force of {', '.join(self._watch.unfollowed)} (a stream with role "
                    "`played`): nobody would see that the arm is blocked; not armed. Let its driver yield one",
                )
            self._watch.armed = True
            await self._motion.switch_on()
            self._watch.follow()
            self._machine.enter(State.ARMED)

    async def _halt(self) -> None:
        """Stop in order."""
        self._watch.armed = False
        self._machine.enter(State.STOPPING, self._end.reason if self._end else "")
        await halt(self.rig, self._clock, self._watch, tell=self._on_halted, blame=self._blame)
        for device in self._lost:
            self._ledger.fall_silent(device, self._clock.now_ns(), self._bounds.stream_age_s)

    def _on_halted(self, event: str, device: str) -> None:
        if event in ("drives_off", "drives_holding"):
            self._motion.switched_off(device)
        self._event(event, device=device)

    def _on_paused(self, t_ns: int) -> None:
        """The arm rests on its path since `t_ns` [ns], until it is told to go on."""
        self._before_pause = self.state
        self._machine.enter(State.PAUSED)
        self._progress.pause(self._clock.now_ns())
        self._event("paused", t_ns=t_ns)

    def _on_resumed(self, t_ns: int) -> None:
        self._event("resumed", t_ns=t_ns)
        self._progress.resume(self._clock.now_ns())
        self._machine.enter(self._before_pause)

    async def _sleep(self, ns: int) -> None:
        await self._clock.sleep_until(self._clock.now_ns() + ns)

    # -- the other tasks ----------------------------------------------------------------------------------------------

    def _start(self, stack: AsyncExitStack, jobs: Mapping[str, Coroutine[Any, Any, None]]) -> None:
        """Run jobs as tasks of these names until the stack is left. An error in one asks for a stop."""

        async def guarded(job: Coroutine[Any, Any, None]) -> None:
            try:
                await job
            except Exception as exc:
                self._blame(exc)

        tasks = [asyncio.create_task(guarded(job), name=name) for name, job in jobs.items()]

        async def end() -> None:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        stack.push_async_callback(end)

    async def _read(self, driver: Driver) -> None:
        try:
            async for block in driver:
                self._take(block)
        except Exception:
            self._watch.forget(driver.streams)  # that nothing more comes of it has a reason now
            raise

    def _take(self, block: Block) -> None:
        """The way of one block: judged, accounted for, handed to the sinks; each whatever the one before says."""
        try:
            self._watch.judge(block)
        except SafetyStop as exc:
            self._on_unsafe(exc)
        self._ledger.enter(block)
        self._sinks.block(block)

    def _on_unsafe(self, exc: SafetyStop) -> None:
        """A sample has left the bounds of the watch."""
        self._blame(exc)

    def _on_sent(self, chunk: Setpoints) -> None:
        """The drives have taken a chunk."""
        assert self._sent is not None
        self._take(sent_block(self._sent, chunk))

    async def _first_samples(self) -> None:
        """Wait until every stream has begun, and watch them all from then on; `DeviceLost` where one does not."""
        deadline_ns = self._clock.now_ns() + _FIRST_SAMPLE_NS
        while not self._ledger.started:
            if self._clock.now_ns() > deadline_ns:
                silent = [a.stream for a in self._ledger.accounts if not a.received]
                raise DeviceLost(
                    silent[0].split(".")[0],
                    f"no sample of {', '.join(silent)} within {_FIRST_SAMPLE_NS / 1e9:g} s; "
                    "check that it streams",
                )
            await self._sleep(_WATCH_NS)
        for driver in self.rig:
            self._watch.expect(driver.streams, self._clock.now_ns())

    async def _watch_silence(self) -> None:
        """Look regularly whether every stream still comes."""
        with self._clock.participant("watch"):
            while True:
                await self._sleep(_WATCH_NS)
                self._watch.silent(self._clock.now_ns())

    async def _report_progress(self) -> None:
        for number in itertools.count(1):
            await self._sleep(_PROGRESS_NS)
            try:
                self._ledger.check_rates()
            except DeviceFault as exc:
                self._blame(exc)
            if number % _CLOCKS_EVERY == 0:
                self._sinks.clocks({d: fit.to_dict() for d, fit in self._ledger.clock_fits().items()})
            tracking = self._watch.worst_tracking
            snapshot = self._progress.snapshot(self._clock.now_ns(), self.state, self._ledger, tracking)
            self._sinks.progress(snapshot)

    async def _listen_for_stop(self, listener: StopListener) -> None:
        async for reason in listener:
            self._event("stop_requested", reason=reason)
            self.stop(reason)

    # -- what the sinks are told --------------------------------------------------------------------------------------

    def _on_state(self, state: State, reason: str) -> None:
        _log.info("%s: %s%s", self._name, state, f": {reason}" if reason else "")
        self._event("state", state=str(state), reason=reason)
        self._sinks.state(str(state), reason)

    def _event(self, name: str, *, t_ns: int | None = None, **facts: Any) -> None:
        self._sinks.event(name, self._clock.now_ns() if t_ns is None else t_ns, facts)

    # -- stopping -----------------------------------------------------------------------------------------------------

    def _blame(self, exc: Exception) -> None:
        """Stop because of an error."""
        if not isinstance(exc, HeftError):
            _log.error("internal error", exc_info=exc)
        if isinstance(exc, DeviceLost):
            self._lost.add(exc.device)
        aborted = isinstance(exc, SafetyStop | CheckError)
        reason = str(exc) if isinstance(exc, HeftError) else f"internal error: {type(exc).__name__}: {exc}"
        if isinstance(exc, RemoteError):
            reason = exc.text  # its own word, which came by the control channel
        self._stop_with(End(State.ABORTED if aborted else State.FAILED, reason))

    def _stop_with(self, end: End) -> None:
        """Ask for the end; the first to ask decides how it is called."""
        if self._end is None:
            self._end = end
            self._interrupt()

    def _interrupt(self) -> None:
        """Cancel what the conductor does; if that is the caller, it ends where it waits next."""
        if self._interruptible is not None:
            self._interruptible.cancel()


def uncancel() -> None:
    """The cancellation was a request to stop, and is being answered."""
    task = asyncio.current_task()
    while task is not None and task.uncancel():
        pass
