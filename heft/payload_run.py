"""`heft payload --live`: the payload service beside a session, or on a rig that stands by."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from heft.arming import Arming, Consent
from heft.attachments import attachments_of
from heft.daq.bus.endpoint import Endpoints
from heft.daq.bus.runtime import private_endpoints
from heft.daq.clock import HostClock, clock_of
from heft.daq.config.objects import ObjectConfig, load_objects
from heft.daq.config.rig import RigConfig, load_rig
from heft.daq.config.session import SessionConfig, is_session, load_session
from heft.daq.config.shipped import locate
from heft.daq.errors import ConfigError, RecordError, SafetyStop
from heft.daq.mqtt.link import Link
from heft.daq.mqtt.session_report import SessionReport
from heft.daq.priority import ahead_of_others
from heft.daq.recording import Recording
from heft.daq.session.acquisition import End
from heft.daq.session.outcome import Outcome
from heft.daq.session.session import Session
from heft.daq.session.standby import Standby
from heft.doubts import tell_doubts
from heft.drivers.flange_load import LoadHolder
from heft.drivers.stream import Stream
from heft.exit_codes import of_state
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.kinematics.robot_frames import link_in_flange, sensor_in_flange
from heft.identify.payload.output.document import Reporter
from heft.identify.payload.pickups.pickup import Pickup
from heft.identify.payload.scales.arm_model import ArmModel
from heft.identify.payload.weighing.recorded_pickups import hand_of
from heft.identify.payload.weighing.streams import PayloadStreams
from heft.identify.robot import Robot
from heft.interruption import immediate_interrupt, stop_signals
from heft.live_payload import PayloadService
from heft.load_applier import LoadApplier
from heft.output_folder import OutputFolder, recording_names
from heft.payload_motion import WristMotions, described
from heft.payload_process import PayloadProcess
from heft.preflight import Preflight
from heft.terminal.payload_page import write_payload_page
from heft.terminal.payload_panel import PayloadPanel
from heft.terminal.payloads import describe_payload

__all__ = ["Operator", "PayloadJob", "PayloadOrder", "payload_job", "run_live", "serve_payload"]

_LAST_THOUGHT_S = 1.0  # about the last samples


@dataclass(frozen=True)
class PayloadOrder:
    """What is asked for.

    live          file of a rig that stands by, or of a session
    arm           the robot's name, as the operator typed it: a wrist motion may be played; None: only a session moves
    bare          recording in which the bare hand moves
    result        identified arm, to weigh by joint torques
    objects       folder of objects to recognise
    out           folder of recordings; None: a new one below `root`
    apply         tell the controller what hangs on the flange
    dimensions    of the object [m]; `density` of it [kg/m3]; None: not known
    json          one object a line, instead of words
    """

    live: Path
    arm: str | None = None
    bare: Path | None = None
    result: Path | None = None
    objects: Path = Path("configs/objects")
    out: Path | None = None
    root: Path = Path("sessions")
    speed: float = 1.0
    seed: int = 0
    find_gravity: bool = False
    gain_spread: float | None = None
    apply: bool = False
    dimensions: tuple[float, float, float] | None = None
    density: float | None = None
    json: bool = False


def run_live(order: PayloadOrder) -> int:
    """Serve until Ctrl-C, or until the session ends."""
    with immediate_interrupt(order.json):  # loads the libraries of its devices
        job = payload_job(order)
    return asyncio.run(_until_asked(job))


@dataclass(frozen=True)
class PayloadJob:
    """All that can be known, and refused, before anything is opened. `config` None: the rig stands by."""

    order: PayloadOrder
    config: SessionConfig | None
    rig: RigConfig
    arming: Consent
    folder: OutputFolder
    robot: Robot
    hand: Hand | None
    arm: ArmModel | None
    library: tuple[ObjectConfig, ...]


def payload_job(order: PayloadOrder, consent: Consent | None = None) -> PayloadJob:
    """Everything read and checked; `consent` lets it move, else the operator at this terminal."""
    config, rig = _load(order.live)
    if order.speed != 1.0 and not rig.simulated:
        raise ConfigError(
            f"{rig.path}: --speed {order.speed:g}: real and emulated devices run at speed 1 only"
        )
    if order.apply and config is None and order.arm is None:
        raise ConfigError(
            f"{rig.path}: --apply changes what the controller holds the arm with; the operator arms it once: say "
            f"--arm {rig.robot.name}"
        )
    names = [] if config is None else recording_names(config.name)
    folder = OutputFolder.given_or_new(order.out, "payload", [*names, "pickup-*.mcap*"], root=order.root)
    folder.check()
    tell_doubts(rig.robot, "heft payload")
    robot = Robot.from_config(rig.robot)
    bare = order.bare
    return PayloadJob(
        order,
        config,
        rig,
        consent or Arming(rig, order.arm, moves=config is not None or order.arm is not None),
        folder,
        robot,
        hand=None if bare is None else hand_of(Recording.open(bare), robot, find_gravity=order.find_gravity),
        arm=None if order.result is None else ArmModel.of_file(order.result, robot, order.gain_spread),
        library=load_objects(order.objects),
    )


class Operator:
    """SIGINT, SIGTERM and SIGHUP: a controlled stop of the `host` that runs; before, the end of all preparations.

    When the host has ended, nothing is left that takes long, and its own end counts.
    """

    def __init__(self) -> None:
        self.host: Session | Standby | None = None
        self.reason = ""
        self._task = asyncio.current_task()

    def ask(self, reason: str) -> None:
        """End it."""
        self.reason = self.reason or reason
        if self.host is not None:
            self.host.stop(reason)
        elif self._task is not None:
            self._task.cancel()


async def _until_asked(job: PayloadJob) -> int:
    operator = Operator()
    try:
        with stop_signals(asyncio.get_running_loop(), operator.ask):
            return await _serve(job, operator)
    except asyncio.CancelledError:
        raise SafetyStop(f"{operator.reason or 'cancelled'}; nothing has moved") from None


async def _serve(job: PayloadJob, operator: Operator) -> int:
    order = job.order
    console = Console(highlight=False, markup=False)
    panel = PayloadPanel(console, job.rig.robot.name, job.folder.path)
    known: dict[int, dict[str, Any]] = {}
    # Where a person is asked to arm it, the terminal is that question's.
    asks = job.config is not None and order.arm is None and bool(job.rig.real)
    drawn = console.is_terminal and not order.json and not asks

    def hand_known(hand: Hand) -> None:
        if drawn:
            panel.hand_known(hand.mass)
        else:
            _notify(f"hand learned: {hand.mass:.3f} kg")

    def tell(facts: dict[str, Any]) -> None:
        known[facts["number"]] = facts
        if order.json:
            sys.stderr.write(describe_payload(facts) + "\n")
            sys.stdout.write(json.dumps(facts, allow_nan=False) + "\n")
        elif drawn:
            panel.update(facts)
        else:
            sys.stdout.write(describe_payload(facts) + "\n")
        sys.stdout.flush()

    with (
        private_endpoints(telemetry=job.rig.telemetry, outside=job.rig.outside) as endpoints,
        panel.shown() if drawn else nullcontext(),
    ):
        end = await serve_payload(job, operator, endpoints, tell, hand_known)
    if known and job.folder.path.is_dir():
        _notify(f"page {write_payload_page(job.folder.path, job.rig.robot.name, list(known.values()))}")
    if end.reason:
        _notify(f"{end.state}: {end.reason}")
    return of_state(end.state)


async def serve_payload(
    job: PayloadJob,
    operator: Operator,
    endpoints: Endpoints,
    tell: Callable[[dict[str, Any]], None],
    on_hand: Callable[[Hand], None] = lambda hand: None,
) -> Outcome | End:
    """Weigh until the operator ends it, or the session ends.

    tell      gets each pick-up of which there is news
    on_hand   gets the bare hand, once it is known
    """
    order, rig = job.order, job.rig
    clock = clock_of(order.speed, simulated=rig.simulated)
    async with AsyncExitStack() as stack:
        stack.enter_context(job.folder)
        process = await stack.enter_async_context(PayloadProcess(job.robot))
        report = SessionReport(rig, rig.name if job.config is None else job.config.name)
        host = _host(job, clock, endpoints, report)
        streams = {stream.name: stream for stream in host.streams}
        motions = _motions(job, host, streams, process)
        applier = _applier(job, host, process, clock)
        link = None if rig.mqtt is None else Link(rig.mqtt, rig.cell, "payload", folder=rig.path.parent)
        prior = ObjectPrior(dimensions=order.dimensions, density=order.density)
        await process.begin(streams, job.hand, prior, job.arm)
        service = PayloadService(
            process,
            _reporter(job, clock, process),
            streams,
            clock=clock,
            cell=rig.cell,
            out=job.folder.path,
            link=link,
            tell=tell,
            on_update=lambda pickup: _updated(pickup, motions, applier),
            on_hand=on_hand,
            attachments=attachments_of(job.config or rig),
        )
        service.host = host
        host.add_sink(service)
        if motions is not None:
            host.add_sink(motions)
        await _enter_together(stack, [report] if link is None else [report, link])
        if order.speed <= 1.0:  # devices do not wait
            stack.enter_context(ahead_of_others())
        gc.collect()
        gc.freeze()  # what is loaded stays: looking through it again would stall the loop
        stack.callback(gc.unfreeze)
        operator.host = host
        if applier is not None:
            stack.push_async_exit(applier)
        return await _run(host, service, job.folder.path)


def _notify(what: str) -> None:
    sys.stderr.write(f"heft payload: {what}\n")


def _host(
    job: PayloadJob, clock: HostClock, endpoints: Endpoints, report: SessionReport
) -> Session | Standby:
    """Who reads the devices: the session, or a rig that stands by."""
    order = job.order
    preflight = Preflight(job.rig) if job.config is not None or order.arm is not None else None
    checks, judged = ((), ()) if preflight is None else (preflight.checks, preflight.judged)
    if job.config is not None:
        return Session(
            job.config,
            clock=clock,
            out=job.folder.path,
            endpoints=endpoints,
            seed=order.seed,
            checks=checks,
            judged=judged,
            attachments=attachments_of(job.config),
            sinks=[report],
            confirm=job.arming.confirm,
        )
    return Standby(
        job.rig,
        clock=clock,
        endpoints=endpoints,
        seed=order.seed,
        armed=order.arm is not None,
        checks=checks,
        judged=judged,
        sinks=[report],
    )


def _reporter(job: PayloadJob, clock: HostClock, process: PayloadProcess) -> Reporter:
    """Tells what the wrist sensor says, or, where there is none, the joints."""
    origin = clock.now_ns() * 1e-9
    if process.by_wrist:
        place = sensor_in_flange(job.robot)
        return Reporter(place, by="wrist sensor", origin=origin, library=job.library)
    return Reporter(link_in_flange(job.robot), by="joint torques", origin=origin, library=job.library)


def _motions(
    job: PayloadJob, host: Session | Standby, streams: Mapping[str, Stream], process: PayloadProcess
) -> WristMotions | None:
    """The wrist motions of an armed rig that stands by; ConfigError where nothing could be weighed, or moved for it."""
    found = PayloadStreams.find(streams, job.robot, str(job.rig.path), by_joints=job.arm is not None)
    gripper = found.gripper
    if gripper is None and job.rig.mqtt is None:
        raise ConfigError(
            f"{job.rig.path}: no stream says that the gripper holds something (`object.detected`), and there is no "
            "broker to hear of it: nothing would ever be weighed; add the gripper's device, or `mqtt:`"
        )
    if not isinstance(host, Standby) or not host.armed:
        return None
    if gripper is None or not host.rig.actuators:
        lacks = (
            "device that moves" if gripper else "stream that says that something is held (`object.detected`)"
        )
        raise ConfigError(
            f"{job.rig.path}: --arm {job.order.arm}: the rig has no {lacks}, and what arrives by MQTT moves "
            "nothing: there would be no wrist motion; leave out --arm"
        )
    job.arming.announce(described(bare=job.hand is None and found.wrench is not None))
    return WristMotions(host, process, streams[gripper], _notify, job.arming.refusal)


def _updated(pickup: Pickup, motions: WristMotions | None, applier: LoadApplier | None) -> None:
    """Something new of a pick-up: a motion may follow, and the controller may be told."""
    if motions is not None:
        motions.update(pickup)
    if applier is not None:
        applier.update(pickup)


def _applier(
    job: PayloadJob, host: Session | Standby, process: PayloadProcess, clock: HostClock
) -> LoadApplier | None:
    """Who tells the controller; ConfigError where no device, or more than one, takes a load."""
    if not job.order.apply:
        return None
    holders = [driver for driver in host.rig if isinstance(driver, LoadHolder)]
    if len(holders) != 1:
        found = ", ".join(one.name for one in holders) or "none"
        raise ConfigError(
            f"{job.rig.path}: --apply wants one device whose controller holds the load (kind ur_rtde); found: {found}"
        )

    def tell(facts: dict[str, Any], words: str) -> None:
        if job.order.json:
            sys.stdout.write(json.dumps(facts, allow_nan=False) + "\n")
            sys.stdout.flush()
        _notify(words)

    place = sensor_in_flange(job.robot) if _by_wrist(job, host) else link_in_flange(job.robot)
    return LoadApplier(holders[0], lambda: process.hand, place, tell, clock.now_ns)


def _by_wrist(job: PayloadJob, host: Session | Standby) -> bool:
    """Whether a wrist sensor weighs."""
    streams = {stream.name: stream for stream in host.streams}
    found = PayloadStreams.find(streams, job.robot, str(job.rig.path), by_joints=job.arm is not None)
    return found.wrench is not None


async def _enter_together(stack: AsyncExitStack, links: Sequence[SessionReport | Link]) -> None:
    """Enter them now, and leave them all at once: each may wait for the broker for a moment."""

    async def leave() -> None:
        await asyncio.gather(*(one.__aexit__() for one in links))

    stack.push_async_callback(leave)
    for one in links:
        await one.__aenter__()


async def _run(host: Session | Standby, service: PayloadService, out: Path) -> Outcome | End:
    """Both to their end: the host's is the service's, and a failure of the service stops the host and is raised."""

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (exc := task.exception()) is not None:
            host.stop(f"the payload service failed: {exc}")

    thinking = asyncio.create_task(service.run(), name="payload service")
    thinking.add_done_callback(ended)
    try:
        end = await host.run()
        service.end()
        await asyncio.wait({thinking}, timeout=_LAST_THOUGHT_S)
    except RecordError as exc:  # the recording could not be begun, and nothing has moved
        raise ConfigError(f"--out {out}: {exc}") from exc
    finally:
        thinking.cancel()
        (failure,) = await asyncio.gather(thinking, return_exceptions=True)
    if isinstance(failure, Exception):
        raise failure
    return end


def _load(path: Path) -> tuple[SessionConfig | None, RigConfig]:
    """A session's file (it has `steps`), or a rig's."""
    path = locate(path)
    if is_session(path):
        session = load_session(path)
        return session, session.rig
    return None, load_rig(path)
