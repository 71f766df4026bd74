"""One acquisition session from connecting to the renamed recording.

Tasks, all named: one reader per device, the watch, the progress, the listener for stops, and the conductor, which
alone decides when to arm, move and stop. Any of the others may ask it to stop; the first reason counts. Whatever
happens, it stops in one order: trajectory, hold, drives off, sensors off, recording flushed and renamed.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from daq import topics
from daq.archive.live import LiveStore
from daq.archive.source import LiveSource
from daq.bus import setpoint_codec
from daq.bus.control import ControlClient, ControlServer, Handler, Reply, Request
from daq.bus.endpoint import Endpoints
from daq.bus.stop import StopListener
from daq.clock import HostClock
from daq.config.session import SessionConfig, Step
from daq.errors import CheckError, RecordError, RemoteError, SafetyStop
from daq.motion.plan import Leg, make_plan
from daq.motion.player import Player
from daq.motion.sent import sent_block, sent_stream
from daq.motion.state import State, StateMachine
from daq.motion.watch import Watch
from daq.record import Recorder
from daq.rig import Rig
from daq.session.halt import halt
from daq.session.ledger import Ledger
from daq.session.observer import Observer, Observers
from daq.session.outcome import Outcome
from daq.session.progress import Progress
from daq.session.side_by_side import first_samples, start, watch_silence
from daq.session.truth import write_truth
from daq.trajectory.checks import Check
from drivers.block import Block
from drivers.driver import Driver, Gripper
from drivers.errors import CommandError, DeviceLost, HeftError
from drivers.setpoints import Setpoints
from drivers.stream import Stream

__all__ = ["Session"]

_log = logging.getLogger("heft.session")

_SETTLE_NS = 100_000_000  # after the last setpoint, so that the last samples arrive
_PROGRESS_NS = 200_000_000
_CLOCKS_EVERY = 5  # reports of progress between two of the devices' clocks


@dataclass(frozen=True, slots=True)
class _Stop:
    """Why the session stops before its end."""

    state: State
    reason: str


class Session:
    """`await Session(...).run()` does it all and returns the Outcome, whatever happened on the way.

    `checks` are what the caller adds to position, velocity and acceleration (torque, collision). `attachments` are
    files that travel inside the recording, `notes` facts for its metadata. `followers` will come for the data, by name,
    with a function that says whether they are still alive: when all is over, `run` waits for them. `observers` see
    everything at once, in this process. `confirm` gets the plan when every device has been heard, and before any
    drive is switched on: what it raises ends the session.
    """

    def __init__(
        self,
        config: SessionConfig,
        *,
        clock: HostClock,
        out: Path,
        endpoints: Endpoints,
        seed: int = 0,
        checks: Sequence[Check] = (),
        attachments: Mapping[str, bytes] | None = None,
        notes: Mapping[str, Mapping[str, str]] | None = None,
        followers: Mapping[str, Callable[[], bool]] | None = None,
        observers: Sequence[Observer] = (),
        confirm: Callable[[Sequence[Leg]], Awaitable[None]] | None = None,
    ) -> None:
        # A plan that may not be played is refused before anything is opened.
        self._draft = make_plan(config, checks=checks)
        self.config = config
        self.file = out / f"{config.name}.mcap"
        self._clock = clock
        self._endpoints = endpoints
        self._checks = checks
        self._attachments = attachments or {}
        self._notes = notes or {}
        self._followers = followers or {}
        self._observers = Observers(observers)
        self._confirm = confirm
        self._rig = Rig(config.rig, clock, seed)
        self._recorder = Recorder(self.file, clock)
        store = LiveStore(lambda: self._recorder.path)
        self._source = LiveSource(endpoints.telemetry, config.name, store, clock.utc_offset_ns)
        arm = self._rig.actuators[0].name if self._rig.actuators else "arm"
        self._sent = sent_stream(arm, config.rig.robot.axes, config.rate_hz)
        self._ledger = Ledger()
        self._watch = Watch(config.rig.robot.joints, config.watch)
        self._machine = StateMachine(self._on_state)
        self._progress = Progress()
        self._stop: _Stop | None = None
        self._lost: set[str] = set()  # devices that fell silent
        self._interruptible: asyncio.Task[Any] | None = None

    @property
    def state(self) -> State:
        """Where it stands."""
        return self._machine.state

    def stop(self, reason: str) -> None:
        """Ask for a controlled stop, as an operator does; when it is over, there are only followers to wait for."""
        if self._machine.state.final:
            self._source.server.release()
        else:
            self._ask_to_stop(_Stop(State.ABORTED, reason))

    def publish(self, topic: str, facts: Mapping[str, Any]) -> None:
        """Tell everyone on the bus; while the session runs."""
        self._source.publish_json(topic, facts)

    def watch_too(self, observer: Observer) -> None:
        """One more observer; before it runs."""
        self._observers.add(observer)

    async def run(self) -> Outcome:
        """Acquire, move, record. Trouble with devices, safety or the recording ends up in the Outcome.

        Raises RecordError where the recording cannot be begun, BusError where telemetry cannot: nothing moves then.
        """
        start_ns = self._clock.now_ns()
        begun = False
        async with self._source:
            try:
                async with self._recorder:
                    begun = True
                    self._write_head()
                    await self._conduct_to_the_end()
                    self._write_tail()
            except RecordError as exc:
                if not begun:
                    raise
                self._blame(exc)
            outcome = self._outcome(start_ns)
            await self._source.end(str(outcome.state), outcome.reason, self._followers)
        return outcome

    def _outcome(self, start_ns: int) -> Outcome:
        truth = None
        try:
            truth = write_truth(self._rig.world, self.file)
        except RecordError as exc:
            self._blame(exc)
        return Outcome(
            state=self._stop.state if self._stop else State.DONE,
            reason=self._stop.reason if self._stop else "",
            seconds=(self._clock.now_ns() - start_ns) * 1e-9,
            accounts=self._ledger.accounts,
            counters={driver.name: driver.counters for driver in self._rig},
            recorded=dict(self._recorder.counts),
            clock_fits=self._ledger.clock_fits(),
            tracking=self._watch.worst_tracking,
            file=self._recorder.path,
            truth=truth,
        )

    # -- the conductor ----------------------------------------------

    async def _conduct_to_the_end(self) -> None:
        """Whatever the conductor runs into, a final state is entered."""
        try:
            await asyncio.create_task(self._conduct(), name="conductor")
        except Exception as exc:
            self._blame(exc)
        self._machine.enter(*((self._stop.state, self._stop.reason) if self._stop else (State.DONE, "")))

    async def _conduct(self) -> None:
        """Connect, read, move, stop; simulated time waits for it."""
        async with AsyncExitStack() as stack:
            stack.enter_context(self._clock.participant("conductor"))
            try:
                await self._work(stack)
            except asyncio.CancelledError:
                _uncancel()
                self._ask_to_stop(_Stop(State.ABORTED, "cancelled"))
            except Exception as exc:
                self._blame(exc)
            if self._machine.state is not State.IDLE:
                await self._halt()

    async def _work(self, stack: AsyncExitStack) -> None:
        """All that a request to stop interrupts, by cancelling it."""
        if self._stop is not None:
            return
        self._interruptible = asyncio.current_task()
        try:
            await stack.enter_async_context(self._rig)
            self._machine.enter(State.CONNECTED)
            control = await self._open_channels(stack)
            self._start_tasks(stack)
            await self._perform(Player(self._clock, lambda chunk: self._send(control, chunk)))
        finally:
            self._interruptible = None

    def _go_on(self) -> None:
        """Not when it was asked to stop: a cancellation may get lost in what it interrupts (`asyncio.wait_for` before
        Python 3.12 forgets one that meets the answer), so before each step it is looked for as well.
        """
        if self._stop is not None:
            raise asyncio.CancelledError

    async def _perform(self, player: Player) -> None:
        """Everything that moves, in the order of the plan."""
        await first_samples(self._rig, self._clock, self._ledger, self._watch)
        arm = self._rig.actuators[0] if self._rig.actuators else None
        start = None if arm is None else await arm.position()
        plan = await asyncio.to_thread(make_plan, self.config, start, self._checks, self._draft)
        self._go_on()
        if self._confirm is not None:
            await self._confirm(plan)
        self._progress.begin(plan)
        self._go_on()
        if arm is not None:
            self._watch.armed = True
            await arm.arm()
            self._machine.enter(State.ARMED)
        for leg in plan:
            self._go_on()
            self._progress.next_leg(self._clock.now_ns())
            await self._play_leg(leg, player)
        await self._sleep(_SETTLE_NS)

    async def _play_leg(self, leg: Leg, player: Player) -> None:
        if leg.trajectory is None:
            assert leg.step is not None
            await self._act(leg.step)
            return
        self._machine.enter(State.MOVING)
        if leg.step is not None:
            start_ns = self._clock.now_ns() + player.LEAD_NS
            self._event("segment_start", t_ns=start_ns, segment=leg.step.name, use=leg.step.use)
        _, end_ns = await player.play(leg.trajectory)
        if leg.step is not None:
            self._event("segment_end", t_ns=end_ns, segment=leg.step.name, use=leg.step.use)
        self._machine.enter(State.ARMED)

    async def _act(self, step: Step) -> None:
        """A step without a trajectory."""
        self._event("segment_start", t_ns=self._clock.now_ns(), segment=step.name, use=step.use)
        if step.wait is not None:
            await self._sleep(int(step.wait * 1e9))
        elif step.grip is not None:
            await self._gripper(step).grip(step.grip)
        else:
            await self._gripper(step).release()
        self._event("segment_end", t_ns=self._clock.now_ns(), segment=step.name, use=step.use)

    async def _send(self, control: ControlClient, chunk: Setpoints) -> None:
        self._go_on()
        await control.request("play", *setpoint_codec.encode(chunk))

    async def _halt(self) -> None:
        """Stop in order."""
        self._watch.armed = False
        self._machine.enter(State.STOPPING, self._stop.reason if self._stop else "")
        await halt(
            self._rig,
            self._clock,
            self._watch,
            tell=lambda event, device: self._event(event, device=device),
            blame=self._blame,
        )
        for device in self._lost:
            self._ledger.fall_silent(device, self._clock.now_ns(), self.config.watch.stream_age_s)

    # -- the other tasks --------------------------------------------

    async def _open_channels(self, stack: AsyncExitStack) -> ControlClient:
        handlers: dict[str, Handler] = {"play": self._on_play, "state": self._on_state_request}
        await stack.enter_async_context(ControlServer(self._endpoints.control, handlers))
        return await stack.enter_async_context(ControlClient(self._endpoints.control))

    def _start_tasks(self, stack: AsyncExitStack) -> None:
        work = {f"reader {driver.name}": self._read(driver) for driver in self._rig}
        work["watch"] = watch_silence(self._clock, self._watch)
        work["progress"] = self._publish_progress()
        work["stop listener"] = self._listen_for_stop()
        start(stack, work, self._blame)

    async def _read(self, driver: Driver) -> None:
        try:
            async for block in driver:
                self._take(block)
        except Exception:
            self._watch.forget(driver.streams)  # that nothing more comes of it has a reason now
            raise

    def _take(self, block: Block) -> None:
        """The way of one block: judged, recorded, accounted for, published; each whatever the one before says."""
        try:
            self._watch.judge(block)
        except SafetyStop as exc:
            self._blame(exc)
        try:
            self._recorder.block(block)
        except RecordError as exc:
            self._source.disown()
            self._blame(exc)
        self._ledger.enter(block)
        self._source.block(block)
        self._observers.block(block)

    async def _publish_progress(self) -> None:
        for number in itertools.count(1):
            await self._sleep(_PROGRESS_NS)
            if number % _CLOCKS_EVERY == 0:
                fits = {device: fit.to_dict() for device, fit in self._ledger.clock_fits().items()}
                self._source.publish_json(topics.CLOCK, fits)
            snapshot = self._progress.snapshot(
                self._clock.now_ns(), self._machine.state, self._ledger, self._watch.worst_tracking
            )
            self._source.publish_json(topics.PROGRESS, snapshot)
            self._observers.progress(snapshot)

    async def _listen_for_stop(self) -> None:
        async with StopListener(self._endpoints.stop) as listener:
            async for reason in listener:
                self.stop(reason)

    # -- control requests -------------------------------------------

    async def _on_play(self, request: Request) -> None:
        """Setpoints on their way to the arm; only while a motion is on: none slips in behind a stop."""
        if self._machine.state is not State.MOVING:
            raise CommandError(
                self.config.rig.name, f"setpoints refused: the session is {self._machine.state}, not moving"
            )
        chunk = setpoint_codec.decode(request.payload, request.buffers)
        arm = self._rig.actuators[0]
        await arm.play(chunk)
        self._watch.sent(chunk)
        self._take(sent_block(self._sent, chunk))

    async def _on_state_request(self, request: Request) -> Reply:
        return Reply({"state": str(self._machine.state)})

    # -- what is written and told -----------------------------------

    def _write_head(self) -> None:
        for keeper in (self._recorder, self._source):
            for name, data in self._attachments.items():
                keeper.attach(name, "application/octet-stream", data)
            for name, note in self._notes.items():
                keeper.note(name, note)
            for stream in self.streams:
                keeper.describe(stream)
        for stream in self.streams:
            self._ledger.expect(stream)
        self._source.begin()

    def _write_tail(self) -> None:
        for keeper in (self._recorder, self._source):
            keeper.note("clock_fits", {k: fit.to_dict() for k, fit in self._ledger.clock_fits().items()})
            keeper.note("losses", {a.stream: a.to_dict() for a in self._ledger.accounts})
            keeper.note("counters", {driver.name: asdict(driver.counters) for driver in self._rig})

    @property
    def streams(self) -> tuple[Stream, ...]:
        """All that is recorded: what the devices yield, and the setpoints sent."""
        measured = tuple(stream for driver in self._rig for stream in driver.streams)
        return (*measured, self._sent) if self._rig.actuators else measured

    def _on_state(self, state: State, reason: str) -> None:
        self._event("state", state=str(state), reason=reason)
        self._source.publish_json(topics.STATE, {"state": str(state), "reason": reason})
        self._observers.state(str(state), reason)

    def _event(self, name: str, *, t_ns: int | None = None, **facts: Any) -> None:
        t_ns = self._clock.now_ns() if t_ns is None else t_ns
        try:
            self._recorder.event(name, t_ns=t_ns, **facts)
        except RecordError as exc:
            self._blame(exc)
        self._source.event(name, t_ns=t_ns, **facts)

    def _gripper(self, step: Step) -> Gripper:
        if not self._rig.grippers:
            raise CommandError(
                self.config.rig.name, f"step {step.name} needs a gripper, the rig has none; add one"
            )
        return self._rig.grippers[0]

    async def _sleep(self, ns: int) -> None:
        await self._clock.sleep_until(self._clock.now_ns() + ns)

    # -- stopping ---------------------------------------------------

    def _blame(self, exc: Exception) -> None:
        """Stop because of an error."""
        if not isinstance(exc, HeftError):
            _log.error("internal error", exc_info=exc)
        if isinstance(exc, DeviceLost):
            self._lost.add(exc.device)
        aborted = isinstance(exc, SafetyStop | CheckError)
        reason = str(exc) if isinstance(exc, HeftError) else f"internal error: {type(exc).__name__}: {exc}"
        if isinstance(exc, RemoteError):
            reason = exc.text  # the session's own word, which came by the control channel
        self._ask_to_stop(_Stop(State.ABORTED if aborted else State.FAILED, reason))

    def _ask_to_stop(self, stop: _Stop) -> None:
        if self._stop is not None:
            return
        self._stop = stop
        if self._interruptible is not None:
            self._interruptible.cancel()  # itself too: then it ends where it waits next


def _uncancel() -> None:
    """The cancellation was a request to stop, and is being answered."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
