"""A session: a plan that is played step by step, and a recording of all that happens meanwhile.

The way through it is that of every acquisition (`heft.daq.session.acquisition`); when it is over, the recording is
flushed and renamed, and followers get what they still lack.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from heft.daq.bus.endpoint import Endpoints
from heft.daq.clock import HostClock
from heft.daq.config.session import SessionConfig
from heft.daq.config.steps import GripStep, ReleaseStep, Step, WaitStep
from heft.daq.errors import RecordError
from heft.daq.following.source import Source
from heft.daq.motion.plan import Leg, Route, make_plan
from heft.daq.motion.player import Player
from heft.daq.motion.state import State
from heft.daq.record import Recorder, Viewer
from heft.daq.record.viewer import NO_ROBOT
from heft.daq.session.acquisition import Acquisition, End
from heft.daq.session.outcome import Outcome
from heft.daq.session.recorder_sink import RecorderSink
from heft.daq.session.sink import Sink
from heft.daq.session.telemetry_sink import TelemetrySink
from heft.daq.session.truth import write_truth
from heft.daq.trajectory.checks import Check
from heft.drivers.driver import Gripper
from heft.drivers.errors import CommandError

__all__ = ["Session"]

_SETTLE_NS = 100_000_000  # after the last setpoint, so that the last samples arrive


class Session(Acquisition):
    """`await Session(...).run()` does it all and returns the Outcome, whatever happened on the way.

    checks       of the plan, on top of position, velocity and acceleration (torque, collision)
    judged       of every setpoint that arrives, on top of the same: quick ones, for the drives wait meanwhile (torque)
    route        leads moves to a step's start around obstacles
    attachments  files that travel inside the recording
    notes        facts for its metadata
    followers    will come for the data, by name, with a function that says whether they are still alive: when all is
                 over, `run` waits for them
    sinks        are handed everything, after the recorder and telemetry
    confirm      gets the plan, and which axes' position may be relative and why, when every device has been heard,
                 before any drive is switched on: what it raises
                 ends the session
    """

    PAUSABLE = True

    def __init__(
        self,
        config: SessionConfig,
        *,
        clock: HostClock,
        out: Path,
        endpoints: Endpoints,
        seed: int = 0,
        checks: Sequence[Check] = (),
        judged: Sequence[Check] = (),
        route: Route | None = None,
        attachments: Mapping[str, bytes] | None = None,
        notes: Mapping[str, Mapping[str, Any]] | None = None,
        followers: Mapping[str, Callable[[], bool]] | None = None,
        sinks: Sequence[Sink] = (),
        confirm: Callable[[Sequence[Leg], Mapping[str, str]], Awaitable[None]] | None = None,
        viewer: Viewer = NO_ROBOT,
    ) -> None:
        # A plan that may not be played is refused before anything is opened.
        self._draft = make_plan(config, checks=checks, route=route)
        self._route = route
        self.config = config
        self.file = out / f"{config.name}.mcap"
        self._checks = checks
        self._attachments = attachments or {}
        self._notes = notes or {}
        self._followers = followers or {}
        self._confirm = confirm
        self._playing: Step | None = None
        self._recorder = Recorder(self.file, clock, viewer=viewer)
        self._source = Source(endpoints.telemetry, config.name, clock.utc_offset_ns)
        super().__init__(
            config.rig,
            name=config.name,
            clock=clock,
            endpoints=endpoints,
            seed=seed,
            rate_hz=config.rate_hz,
            bounds=config.watch,
            moves=True,
            checks=judged,
            sinks=[RecorderSink(self._recorder), TelemetrySink(self._source.publisher), *sinks],
        )

    def stop(self, reason: str) -> None:
        """Ask for a controlled stop, as an operator does; when it is over, there are only followers to wait for."""
        if self.state.final:
            self._source.server.release()
        else:
            self._stop_with(End(State.ABORTED, reason))

    def pause(self) -> None:
        """Come to rest on the path, and stay there until `resume`; CommandError where nothing is under way."""
        self._motion.pause()

    def resume(self) -> None:
        """Go on after a pause; CommandError where there was none."""
        self._motion.resume()

    def toggle_pause(self) -> None:
        """As an operator's key does: pause or go on; nothing where neither can be done."""
        with suppress(CommandError):
            if self._motion.pausing:
                self.resume()
            else:
                self.pause()

    def publish(self, topic: str, facts: Mapping[str, Any]) -> None:
        """Tell everyone on the bus; while the session runs."""
        self._source.publisher.publish_json(topic, facts)

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
                    await self._acquire()
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
            truth = write_truth(self.rig.truth, self.file)
        except RecordError as exc:
            self._blame(exc)
        end = self._end or End(State.DONE, "")
        return Outcome(
            state=end.state,
            reason=end.reason,
            seconds=(self._clock.now_ns() - start_ns) * 1e-9,
            accounts=self._ledger.accounts,
            counters={driver.name: driver.counters for driver in self.rig},
            recorded=dict(self._recorder.counts),
            clock_fits=self._ledger.clock_fits(),
            tracking=self._watch.worst_tracking,
            file=self._recorder.path if self._recorder.path.exists() else None,
            truth=truth,
        )

    # -- the plan -----------------------------------------------------------------------------------------------------

    async def _perform(self) -> None:
        """Everything that moves, in the order of the plan."""
        arm = self._motion.arm
        start = None if arm is None else await arm.position()
        plan = await asyncio.to_thread(make_plan, self.config, start, self._checks, self._draft, self._route)
        self._check_stop()
        if self._confirm is not None:
            await self._confirm(plan, {} if arm is None else arm.unreferenced)
            if arm is not None:
                arm.confirm_pose()
        self._progress.begin(plan)
        await self._arm()
        for leg in plan:
            self._check_stop()
            await self._motion.rest()
            self._progress.next_leg(self._clock.now_ns())
            await self._play_leg(leg)
        await self._sleep(_SETTLE_NS)

    async def _play_leg(self, leg: Leg) -> None:
        if leg.trajectory is None:
            assert leg.step is not None
            await self._act(leg.step)
            return
        self._machine.enter(State.MOVING)
        self._playing = leg.step
        self._mark("segment_start", self._clock.now_ns() + Player.LEAD_NS)
        _, end_ns = await self._motion.play(leg.trajectory)
        self._mark("segment_end", end_ns)
        self._playing = None
        self._machine.enter(State.ARMED)

    def _mark(self, event: str, t_ns: int) -> None:
        """A segment of the step that is being played begins or ends."""
        if self._playing is not None:
            self._event(event, t_ns=t_ns, segment=self._playing.name, use=self._playing.use)

    def _on_paused(self, t_ns: int) -> None:
        """What a pause interrupts is several segments: the time at rest is in none of them."""
        self._mark("segment_end", t_ns)
        super()._on_paused(t_ns)

    def _on_resumed(self, t_ns: int) -> None:
        super()._on_resumed(t_ns)
        self._mark("segment_start", t_ns + Player.LEAD_NS)

    async def _act(self, step: Step) -> None:
        """A step without a trajectory."""
        self._event("segment_start", segment=step.name, use=step.use)
        match step:
            case WaitStep():
                await self._sleep(int(step.wait * 1e9))
            case GripStep():
                await self._gripper(step).grip(step.grip)
            case ReleaseStep():
                await self._gripper(step).release()
        self._event("segment_end", segment=step.name, use=step.use)

    def _gripper(self, step: Step) -> Gripper:
        if not self.rig.grippers:
            raise CommandError(
                self.config.rig.name, f"step {step.name} needs a gripper, the rig has none; add one"
            )
        return self.rig.grippers[0]

    # -- the recording's head and tail --------------------------------------------------------------------------------

    def _write_head(self) -> None:
        for name, data in self._attachments.items():
            self._recorder.attach(name, "application/octet-stream", data)
        for name, note in self._notes.items():
            self._recorder.note(name, note)
        for stream in self.streams:
            self._recorder.describe(stream)
        self._source.begin(self._recorder.path)

    def _write_tail(self) -> None:
        fits = {device: fit.to_dict() for device, fit in self._ledger.clock_fits().items()}
        self._recorder.note("clock_fits", fits)
        self._recorder.note("losses", {a.stream: a.to_dict() for a in self._ledger.accounts})
        self._recorder.note("counters", {driver.name: asdict(driver.counters) for driver in self.rig})
