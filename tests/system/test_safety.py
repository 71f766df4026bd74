"""Everything that is watched, and everything that can break: the arm stops, in order, and the user is told why."""

from __future__ import annotations

import asyncio
import errno
import itertools
import re
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from heft.daq import topics
from heft.daq.bus.endpoint import Endpoints
from heft.daq.bus.stop import StopListener
from heft.daq.bus.telemetry import Subscriber
from heft.daq.clock import SimulatedClock
from heft.daq.config.session import load_session
from heft.daq.motion.player import Player
from heft.daq.motion.state import State
from heft.daq.motion.watch import Watch
from heft.daq.record.writer import Writer
from heft.daq.recording import Recording
from heft.daq.session import halt as halt_module
from heft.daq.session import motion_control
from heft.daq.session.session import Session
from heft.drivers.errors import CommandError, ConnectError
from heft.drivers.setpoints import Setpoints
from heft.drivers.sim.drives import SimDrives
from heft.drivers.sim.encoders import SimEncoders
from heft.drivers.sim.wrench import SimWrench

if TYPE_CHECKING:
    from tests.system.conftest import Bench, Run


def check_stopped(run: Run, code: int, reason: str) -> None:
    assert run.code == code, run.err
    state = {3: "aborted", 4: "failed"}[code]
    assert run.json["state"] == state
    assert re.fullmatch(reason, run.json["reason"]), run.json["reason"]
    assert run.states[-2:] == ["stopping", state]
    assert run.recording.recovery.ok
    run.check_off()


# -- what is watched at every sample --------------------------------------------


def test_tracking_error(bench: Bench) -> None:
    bench.session["watch"] = {"tracking_error": 0.0005}
    run = bench.run()
    reason = (
        r"[\w.]+: joint\d is 0\.\d{4} rad away from its setpoint, bound 0\.0005 rad; is the arm blocked.*"
    )
    check_stopped(run, 3, reason)
    assert run.json["tracking_error"] > 0.0005


def test_position_limits(bench: Bench) -> None:
    """The plan ends on the limits exactly; the arm, a little behind or ahead of it, does not."""
    goal = bench.session["steps"][0]["move"]["to"]
    for joint, end, begin in zip(
        bench.robot["joints"].values(), goal, bench.rig["simulation"]["posture"], strict=True
    ):
        joint["position"] = [begin - 0.2, end] if end > begin else [end, begin + 0.2]
    bench.session["watch"] = {"position_margin": 0.0}
    check_stopped(
        bench.run(),
        3,
        r"\w+\.\w+: joint\d is at -?\d\.\d{4} rad, outside \[.*\] rad; check the trajectory and the encoder's zero",
    )


def test_velocity_limit(bench: Bench) -> None:
    bench.session["watch"] = {"velocity_margin": 0.05}
    check_stopped(
        bench.run(),
        3,
        r"arm\.motion: joint\d moves at \d\.\d{3} rad/s, bound \d\.\d{3} rad/s; slow the trajectory",
    )


def test_stream_age(bench: Bench) -> None:
    bench.session["watch"] = {"stream_age_s": 0.002}  # blocks come every 10 ms
    check_stopped(
        bench.run(),
        4,
        r"\w+: [\w.]+ has been silent for 0\.0\d\d s \(bound 0\.002 s\); check its cable and power",
    )


def test_overload_by_a_real_load(bench: Bench) -> None:
    """Not a fault on command: what is gripped is too heavy for the sensor."""
    bench.rig["devices"]["wrist"]["force_range"] = 10.0
    bench.session["steps"] = [
        {"name": "pick", "grip": "block"},
        {"name": "sway", "move": {"to": [0.3, -0.3, 0.2, 1.6, -1.6, 0.2, 0.2]}},
    ]
    check_stopped(bench.run(), 3, r"wrist\.wrench: [xyz]\.force is saturated at sample \d+; lower the load.*")


# -- motion that goes wrong -----------------------------------------------------


def delayed(after: int, seconds: float) -> type[Player]:
    """A player that sends nothing for a while after so many setpoints."""

    class Delayed(Player):
        def __init__(
            self, clock: Any, send: Callable[[Setpoints], Awaitable[None]], *more: Any, **options: Any
        ) -> None:
            async def late(chunk: Setpoints) -> None:
                if chunk.sequence >= after:
                    await clock.sleep_until(clock.now_ns() + int(seconds * 1e9))
                await send(chunk)

            super().__init__(clock, late, *more, **options)

    return Delayed


def test_an_underrun_is_a_controlled_stop(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion_control, "Player", delayed(200, 2.0))
    run = bench.run()
    check_stopped(run, 4, r"arm: no setpoint after \d\.\d{4} s; the drives stopped\. Send further ahead")
    played = run.recording.columns("arm.played")
    speed = np.abs(played.quantity("velocity")).max(axis=1)
    braking = np.diff(speed[np.argmax(speed) :])
    assert speed[-1] == 0.0
    assert braking.max() < 1e-6  # on a ramp to rest, not thrown on the brakes
    assert np.abs(played.quantity("acceleration")).max() < 1.01 * max(
        joint["acceleration"] for joint in bench.robot["joints"].values()
    )


def test_setpoints_that_come_too_late_are_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion_control, "Player", delayed(0, 0.6))
    run = bench.run()
    assert run.code == 4
    assert re.match(r"arm: the first setpoint is due at .*; send further ahead", run.json["reason"])
    run.check_off()
    assert np.abs(run.recording.columns("arm.played").quantity("velocity")).max() == 0.0  # it never moved


def test_a_grip_on_nothing_known(bench: Bench) -> None:
    bench.session["steps"] = [{"name": "pick", "grip": "anvil"}]
    check_stopped(
        bench.run(), 4, r"gripper: there is no object 'anvil' to grip; known: bottle, hammer, block"
    )


def test_a_grip_without_a_gripper(bench: Bench) -> None:
    del bench.rig["devices"]["gripper"]
    bench.session["steps"] = [{"name": "pick", "grip": "bottle"}]
    run = bench.run()
    assert run.code == 4
    assert run.json["reason"] == "sim_wam7: step pick needs a gripper, the rig has none; add one"


# -- devices and the program itself ---------------------------------------------


def test_devices_that_do_not_connect_are_all_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(self: Any) -> None:
        raise ConnectError(self.name, "no answer on its port within 1 s; check cable and power")

    monkeypatch.setattr(SimWrench, "__aenter__", refuse)
    monkeypatch.setattr(SimEncoders, "__aenter__", refuse)
    run = bench.run()
    assert run.code == 4
    assert run.json["reason"].splitlines() == [
        "sim_wam7: 2 of 4 devices did not connect:",
        "  arm: connected",
        "  encoders: no answer on its port within 1 s; check cable and power",
        "  wrist: no answer on its port within 1 s; check cable and power",
        "  gripper: connected",
    ]
    assert run.states == ["failed"]


def at_900_samples(broken: Any) -> Callable[..., Any]:
    """A device's way to measure that breaks in the middle of the motion."""
    measure = broken._measure

    def fail(self: Any, t: Any) -> Any:
        if t[0] > 0.9:
            raise ZeroDivisionError("a mistake in a driver")
        return measure(self, t)

    return fail


@pytest.mark.parametrize("broken", [SimWrench, SimDrives])
def test_a_mistake_in_a_reader(bench: Bench, monkeypatch: pytest.MonkeyPatch, broken: Any) -> None:
    monkeypatch.setattr(broken, "_measure", at_900_samples(broken))
    check_stopped(bench.run(), 4, "internal error: ZeroDivisionError: a mistake in a driver")


def test_a_mistake_in_the_watch_is_not_a_session_without_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Watch, now_ns: int) -> None:
        raise KeyError("a mistake in the watch")

    monkeypatch.setattr(Watch, "silent", broken)
    check_stopped(bench.run(), 4, "internal error: KeyError: 'a mistake in the watch'")


@pytest.mark.parametrize(
    "error", [CommandError("arm", "does not listen"), RuntimeError("a mistake in a driver")]
)
def test_drives_go_off_even_if_they_do_not_hold(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def fail(self: SimDrives) -> None:
        raise error

    monkeypatch.setattr(SimDrives, "hold", fail)
    bench.faults({"kind": "saturate", "device": "wrist", "at_s": 0.9})
    run = bench.run()
    assert run.code == 3
    assert "saturated" in run.json["reason"]  # the first reason counts
    names = [e.name for e in run.recording.events]
    assert "hold" not in names  # it is told only if it was done
    assert names.index("drives_off") < names.index("sensor_off")


def test_a_device_that_hangs_does_not_keep_the_drives_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(self: SimDrives) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(SimDrives, "hold", hang)
    monkeypatch.setattr(halt_module, "_HANG_S", 0.05)
    run = bench.run()
    assert run.code == 4
    assert re.fullmatch(r"arm: hold: no answer within \d\.\d s; use the emergency stop", run.json["reason"])
    assert run.event("drives_off")


def test_drives_that_do_not_go_off_are_not_said_to_be(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: SimDrives) -> None:
        raise CommandError("arm", "does not switch off; use the emergency stop")

    monkeypatch.setattr(SimDrives, "disarm", fail)
    run = bench.run()
    assert run.code == 4
    assert run.json["reason"] == "arm: does not switch off; use the emergency stop"
    assert [e.name for e in run.recording.events if e.name in ("hold", "drives_off")] == ["hold"]


async def test_no_session_without_its_stop_channel(bench: Bench, tmp_path: Path) -> None:
    endpoints = Endpoints.under(tmp_path)
    async with StopListener(endpoints.stop):
        session = Session(
            load_session(bench.write()), clock=SimulatedClock(), out=tmp_path / "out", endpoints=endpoints
        )
        outcome = await session.run()
    assert outcome.state is State.FAILED
    assert re.match(r"stop cannot bind ipc://.*/stop: another session listens there", outcome.reason)


@pytest.mark.slow
@pytest.mark.alone
def test_a_host_that_stalls_stops_the_motion_and_blames_no_device(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of this process runs for 0.7 s of real time: the drive runs out of setpoints."""
    calls = itertools.count()
    silent = Watch.silent

    def stall(self: Watch, now_ns: int) -> None:
        if next(calls) == 60:
            time.sleep(0.7)
        silent(self, now_ns)

    monkeypatch.setattr(Watch, "silent", stall)
    bench.fourier(3.0)
    run = bench.run(speed="1")
    assert run.code == 4
    assert re.match(r"arm: no setpoint after \d\.\d{4} s; the drives stopped", run.json["reason"])
    assert run.json["lost"] == 0
    assert run.event("drives_off")


# -- the recording --------------------------------------------------------------


async def test_a_disk_that_cannot_be_written_stops_the_motion(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The events are no longer in the file, so an observer tells what happened to the arm."""
    bench.fourier(20.0)
    endpoints = Endpoints.under(tmp_path)
    session = Session(
        load_session(bench.write()), clock=SimulatedClock(), out=tmp_path / "out", endpoints=endpoints
    )
    write = Writer.block

    def full(self: Writer, block: Any, data: bytes) -> None:
        if block.stream.name == "arm.motion" and block.sequence > 1000:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, block, data)

    monkeypatch.setattr(Writer, "block", full)
    seen: list[str] = []

    async def observe() -> None:
        async with Subscriber(endpoints.telemetry, [topics.EVENT]) as subscriber:
            async for message in subscriber:
                seen.append(message.json.get("state") or message.json["name"])

    observer = asyncio.create_task(observe())
    outcome = await session.run()
    await asyncio.sleep(0.05)
    observer.cancel()
    await asyncio.gather(observer, return_exceptions=True)
    assert outcome.state is State.FAILED
    assert re.match(
        r".*short\.mcap\.partial: cannot be written: .*No space left on device; free some", outcome.reason
    )
    assert outcome.file.name == "short.mcap.partial"
    assert seen[-8:] == ["stopping", "hold", "drives_off", *["sensor_off"] * 4, "failed"]
    assert outcome.lost > 0  # what was received and is not in the file
    lost = {a.stream: a.received - outcome.recorded[a.stream] for a in outcome.accounts}
    assert lost["arm.motion"] > 0
    assert outcome.lost == sum(lost.values())


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
from heft.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_file_that_may_not_grow(bench: Bench) -> None:
    """A real refusal by the kernel, in a process of its own; what was written before is there and reads back."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] in (resource.RLIM_INFINITY, -1)
    bench.fourier(20.0)
    arguments, out = bench.command()
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert "short.mcap.partial: cannot be written: File too large; free some space" in done.stderr
    recording = Recording.open(out / "short.mcap.partial")
    assert not recording.recovery.complete
    motion = recording.columns("arm.motion")
    assert len(motion) > 200
    assert motion.gaps == []
