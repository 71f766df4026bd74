"""Stopping in mid-motion: by signal, through the stop channel, by a kill that nobody can catch."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from heft.daq.bus.control import ControlClient
from heft.daq.bus.endpoint import Endpoints
from heft.daq.bus.stop import send_stop
from heft.daq.clock import SimulatedClock
from heft.daq.config.session import load_session
from heft.daq.motion.state import State
from heft.daq.recording import Recording
from heft.daq.session.session import Session
from heft.drivers.sim.drives import SimDrives
from heft.identify.data import Dataset
from heft.identify.data.recorded_robot import robot_of

if TYPE_CHECKING:
    from tests.system.conftest import Bench, Process, Run

ALONE = [pytest.mark.slow, pytest.mark.alone]
#: Real time that passes at half its pace, so that a busy machine does not stop the arm first by starving it.
SLOWLY = "0.5"
REST = 0.01  # [rad/s]; the velocity's noise is 1 mrad/s


def check_stopped(run: Run, reason: str) -> None:
    """What every stop by an operator leaves: a whole file that shows an arm at rest, drives off in time."""
    assert run.code == 3, run.err
    assert run.json["state"] == "aborted"
    assert run.json["reason"] == reason
    assert run.json["lost"] == 0
    assert f"aborted after {run.json['seconds']:.1f} s: {reason}" in run.err
    assert run.err.splitlines()[-1] == "lost 0"
    assert run.files == {"short.mcap", "short.truth.json"}  # nothing is left `.partial`
    check_order(run.recording, reason)
    assert run.recording.recovery.ok
    (segment,) = run.recording.segments
    assert not segment.finished
    check_at_rest(run.recording)


def check_order(recording: Recording, reason: str) -> None:
    """Trajectory, hold, drives off, sensors off, recording whole: in the order in which they were written."""
    told = [
        (e.name, e.facts.get("state") or e.facts["device"])
        for e in recording.events
        if "segment" not in e.facts and e.name != "stop_requested"
    ]
    assert told[-8:] == [
        ("state", "stopping"),
        ("hold", "arm"),
        ("drives_off", "arm"),
        ("sensor_off", "arm"),
        ("sensor_off", "encoders"),
        ("sensor_off", "wrist"),
        ("sensor_off", "gripper"),
        ("state", "aborted"),
    ]
    assert ("state", "moving") in told
    assert [e.facts["reason"] for e in recording.events if e.name == "state"][-2:] == [reason, reason]


def check_at_rest(recording: Recording) -> None:
    """It moved, it rests when the drives go off, within 0.5 s, and nothing moves or is commanded afterwards."""
    (stopping,) = [e.t_ns for e in recording.events if e.facts.get("state") == "stopping"]
    (off,) = [e.t_ns for e in recording.events if e.name == "drives_off"]
    assert 0 <= off - stopping <= 500_000_000
    motion, played = recording.columns("arm.motion"), recording.columns("arm.played")
    speed = np.abs(motion.quantity("velocity")).max(axis=1)
    before = (motion.host_ns > stopping - 50_000_000) & (motion.host_ns <= stopping)
    assert speed[before].max() > 10 * REST
    after = motion.host_ns >= off
    assert np.count_nonzero(after) >= 30
    assert speed[after].max() < REST
    commanded = np.abs(played.quantity("velocity")[played.host_ns >= off])
    assert commanded.max() == 0.0


@pytest.mark.parametrize(
    ("number", "speed"),
    [
        (signal.SIGTERM, "max"),
        pytest.param(signal.SIGINT, SLOWLY, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, "max", marks=pytest.mark.slow),  # the terminal was closed
        pytest.param(signal.SIGTERM, "1", marks=ALONE),
    ],
)
def test_a_signal_in_mid_motion(
    bench: Bench, start: Callable[..., Process], number: signal.Signals, speed: str
) -> None:
    bench.fourier(30.0)
    bench.session["watch"] = {"stream_age_s": 2.0}  # a busy machine must not stop it first
    process = start(speed=speed)
    process.wait_for("excitation")
    process.wait_until_recorded(0.7)  # past the blend
    for _ in range(3):  # an impatient operator does not hurry the stop
        process.popen.send_signal(number)
        time.sleep(0.01)
    check_stopped(process.finish(), f"{number.name} received")


@pytest.mark.slow
def test_of_a_session_that_was_aborted_nothing_is_missing(
    bench: Bench, start: Callable[..., Process]
) -> None:
    """Setpoints that were sent ahead and never played are no samples: the segment ends with what was measured."""
    bench.fourier(30.0)
    process = start(speed="max")
    process.wait_for("excitation")
    process.wait_until_recorded(2.0)
    process.popen.send_signal(signal.SIGTERM)
    run = process.finish()
    assert run.json["lost"] == 0
    (segment,) = run.recording.segments
    motion = run.recording.columns("arm.motion")
    assert not segment.finished
    assert segment.end_ns - int(motion.host_ns[-1]) < 50_000_000
    data = Dataset.from_recording(run.recording, robot_of(run.recording))
    assert not [note for note in data.notes if "missing" in note]


@pytest.mark.parametrize("moving", [False, pytest.param(True, marks=ALONE)])
def test_a_kill_costs_at_most_a_second(bench: Bench, start: Callable[..., Process], moving: bool) -> None:
    bench.session["steps"] = [{"name": "excitation", "wait": 30.0}]
    if moving:
        bench.fourier(30.0)
    bench.session["watch"] = {"stream_age_s": 2.0}  # a busy machine must not stop it first
    process = start(speed="1")
    process.wait_for("excitation")
    process.wait_until_recorded(0.7)
    killed_ns = time.monotonic_ns()
    process.popen.kill()
    run = process.finish()
    assert run.code == -signal.SIGKILL
    assert run.files == {"short.mcap.partial"}  # not whole, and named so
    recording = Recording.open(run.folder / "short.mcap.partial")
    assert not recording.recovery.complete
    assert not recording.recovery.damaged
    assert "not finished" in str(recording.recovery)
    for name in (
        "arm.motion",
        "arm.current",
        "arm.played",
        "encoders.position",
        "wrist.wrench",
        "gripper.state",
    ):
        columns = recording.columns(name)
        assert columns.gaps == []
        assert columns.sequence[0] == 0
        assert killed_ns - columns.host_ns[-1] < 1_000_000_000, name
    assert [s.name for s in recording.segments] == ["excitation"]
    assert "configuration/robot.yaml" in recording.attachments


class Stage:
    """A session in this process, on a simulated clock, with channels that a test can reach."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.clock = SimulatedClock()
        self.endpoints = Endpoints.under(folder)
        self.session = Session(
            load_session(bench.write()), clock=self.clock, out=folder / "out", endpoints=self.endpoints
        )

    @property
    def recording(self) -> Recording:
        return Recording.open(self.session.file)

    async def until(self, seconds: float) -> None:
        """Return when the session is connected and its own time has gone on for so long."""
        while self.session.state is State.IDLE:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        await self.clock.sleep_until(self.clock.now_ns() + int(seconds * 1e9))


@pytest.fixture
def stage(bench: Bench, tmp_path: Path) -> Stage:
    bench.fourier(30.0)
    return Stage(bench, tmp_path)


async def test_the_stop_channel(stage: Stage) -> None:
    async def operator() -> None:
        await stage.until(1.5)
        with stage.clock.hold():
            await send_stop(stage.endpoints.stop, "the operator saw a hand")

    asking = asyncio.create_task(operator())
    outcome = await stage.session.run()
    await asking
    assert (outcome.state, outcome.reason) == (State.ABORTED, "the operator saw a hand")
    check_order(stage.recording, "the operator saw a hand")
    check_at_rest(stage.recording)


async def test_a_session_that_is_cancelled_stops_like_any_other(stage: Stage) -> None:
    running = asyncio.create_task(stage.session.run())
    await stage.until(1.5)
    running.cancel()
    outcome = await running
    assert (outcome.state, outcome.reason) == (State.ABORTED, "cancelled")
    check_order(stage.recording, "cancelled")
    check_at_rest(stage.recording)


@pytest.mark.parametrize("command", ["position", "arm"])
async def test_a_stop_that_meets_a_driver_s_answer_is_not_lost(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """`asyncio.wait_for` forgets a cancellation that arrives together with the answer, before Python 3.12."""
    obey = getattr(SimDrives, command)

    async def meet(self: SimDrives) -> Any:
        answer = asyncio.get_running_loop().create_future()

        def both(value: Any) -> None:
            answer.set_result(value)
            stage.session.stop("the operator saw a hand")

        asyncio.get_running_loop().call_soon(both, await obey(self))
        return await asyncio.wait_for(answer, 5.0)

    monkeypatch.setattr(SimDrives, command, meet)
    outcome = await stage.session.run()
    assert (outcome.state, outcome.reason) == (State.ABORTED, "the operator saw a hand")
    states = [e.facts["state"] for e in stage.recording.events if e.name == "state"]
    assert "moving" not in states
    assert states[-2:] == ["stopping", "aborted"]


async def test_stopping_before_it_begins(stage: Stage) -> None:
    stage.session.stop("changed my mind")
    outcome = await stage.session.run()
    assert (outcome.state, outcome.reason) == (State.ABORTED, "changed my mind")
    assert [e.facts["state"] for e in stage.recording.events] == ["aborted"]  # not even connected


async def test_stopping_while_it_waits_for_the_first_samples(stage: Stage) -> None:
    running = asyncio.create_task(stage.session.run())
    await stage.until(0.005)
    stage.session.stop("too early")
    assert (await running).reason == "too early"
    names = [e.facts.get("state") or e.name for e in stage.recording.events]
    assert names[:3] == ["connected", "stopping", "drives_off"]  # drives that were never on hold nothing
    assert "armed" not in names


async def test_a_stop_after_the_end_changes_nothing(bench: Bench, tmp_path: Path) -> None:
    bench.session["steps"] = [{"name": "rest", "wait": 0.1}]
    stage = Stage(bench, tmp_path)
    outcome = await stage.session.run()
    stage.session.stop("too late")
    assert outcome.state is State.DONE


async def test_no_setpoints_slip_in_while_nothing_moves(bench: Bench, tmp_path: Path) -> None:
    """The control channel is for the motion that the session has begun, and for no other."""
    bench.session["steps"] = [{"name": "rest", "wait": 1.0}]
    stage = Stage(bench, tmp_path)
    running = asyncio.create_task(stage.session.run())
    await stage.until(0.5)
    with stage.clock.hold():
        async with ControlClient(stage.endpoints.control) as intruder:
            assert (await intruder.request("state")).payload == {"state": "armed"}
            with pytest.raises(Exception, match="setpoints refused: the session is armed, not moving"):
                await intruder.request("play", {})
    assert (await running).state is State.DONE
