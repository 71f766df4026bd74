"""Each fault on command, and what the user sees of it. `docs/faults.md` tells the same in words.

The short move begins 0.52 s after the start of the world and lasts until 1.46 s; faults begin at 0.9 s, in its middle.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from heft.drivers.block import Validity

if TYPE_CHECKING:
    from tests.system.conftest import Bench, Run

AT_S = 0.9


def summary_row(run: Run, stream: str) -> dict[str, int]:
    """A line of the table at the end."""
    (line,) = [line for line in run.err.splitlines() if line.startswith(f"{stream} ")]
    keys = ("expected", "received", "lost", "recorded", "invalid")
    return dict(zip(keys, map(int, line.split()[1:6]), strict=True))


def check_goes_on(run: Run) -> None:
    """The session is not disturbed."""
    assert run.code == 0, run.err
    assert run.json["state"] == "done"
    assert run.recording.recovery.ok
    assert run.recording.segments[0].finished


def check_stops(run: Run, code: int, state: str, reason: str, held: bool = True) -> None:
    """The arm is stopped in mid-motion, the reason is told everywhere, and the file is whole.

    `held`: by its drives; those that have failed hold nothing.
    """
    assert run.code == code, run.err
    assert run.json["state"] == state
    assert re.fullmatch(reason, run.json["reason"]), run.json["reason"]
    assert f"{state} after {run.json['seconds']:.1f} s: {run.json['reason']}" in run.err
    assert run.states == ["connected", "armed", "moving", "stopping", state]
    assert run.event("state", state=state).facts["reason"] == run.json["reason"]
    assert run.recording.recovery.ok
    assert not run.recording.segments[0].finished
    run.check_off(held)


@pytest.mark.parametrize(
    ("fault", "at_least", "runs"),
    [
        ({"kind": "drop", "rate": 0.05}, 40, "short"),
        ({"kind": "burst", "rate": 0.1, "length": 8}, 40, "long"),
    ],
)
def test_lost_samples_are_gaps_and_are_counted(
    bench: Bench, fault: dict[str, Any], at_least: int, runs: str
) -> None:
    bench.faults({**fault, "device": "wrist"})
    run = bench.run("--seed", "2")
    check_goes_on(run)
    account = run.json["streams"]["wrist.wrench"]
    assert account["lost"] == run.json["lost"] >= at_least
    at_the_end = run.json["devices"]["wrist"]["lost"] - account["lost"]  # no later sample shows such a gap
    assert 0 <= at_the_end < 10
    assert account["expected"] == account["received"] + account["lost"]
    assert account["received"] == account["recorded"]
    assert account["invalid"] == 0
    assert summary_row(run, "wrist.wrench")["lost"] == account["lost"]
    assert run.err.splitlines()[-1] == f"lost {account['lost']}"
    columns = run.recording.columns("wrist.wrench")
    assert sum(count for _, count in columns.gaps) == account["lost"]
    mean_run = account["lost"] / account["gaps"]
    assert mean_run < 1.5 if runs == "short" else mean_run > 3
    others = [a for name, a in run.json["streams"].items() if name != "wrist.wrench"]
    assert not any(a["lost"] for a in others)


def test_a_short_silence_is_a_gap(bench: Bench) -> None:
    bench.faults({"kind": "silence", "device": "wrist", "at_s": AT_S, "duration_s": 0.05})
    run = bench.run()
    check_goes_on(run)
    assert run.json["lost"] == 50
    ((first, count),) = run.recording.columns("wrist.wrench").gaps
    assert (first, count) == (900, 50)


@pytest.mark.parametrize("device", ["wrist", "encoders", "gripper", "arm"])
def test_a_silent_device_is_a_lost_device(bench: Bench, device: str) -> None:
    bench.faults({"kind": "silence", "device": device, "at_s": AT_S})
    run = bench.run()
    stream = rf"{device}\.\w+"
    check_stops(
        run,
        4,
        "failed",
        rf"{device}: {stream} has been silent for 0\.1\d\d s \(bound 0\.1 s\); check its cable and power",
    )
    seen_s = (run.event("state", state="stopping").t_ns - run.truth["start_ns"]) * 1e-9 - AT_S
    assert 0.1 < seen_s < 0.16
    for name, account in run.json["streams"].items():
        silent = name.startswith(device) and name != "arm.sent"
        assert (account["lost"] > 0) == silent, name  # what it should have sent, by its rate, until the end
    assert run.err.splitlines()[-1] == f"lost {run.json['lost']}"


def test_a_device_that_never_speaks(bench: Bench) -> None:
    bench.faults({"kind": "silence", "device": "wrist"})
    run = bench.run()
    assert run.code == 4
    assert re.match(
        r"wrist: silent for 0\.2\d\d s, bound 0\.25 s; check its cable and power", run.json["reason"]
    )
    assert run.states == ["connected", "stopping", "failed"]  # nothing was armed


def test_corrupt_frames_are_marked_and_never_used(bench: Bench) -> None:
    bench.faults({"kind": "corrupt", "device": "encoders", "rate": 0.05})
    run = bench.run()
    check_goes_on(run)
    account = run.json["streams"]["encoders.position"]
    assert account["invalid"] == run.json["devices"]["encoders"]["corrupt"] > 40
    assert account["lost"] == 0
    assert f"line      encoders: {account['invalid']} corrupt" in run.err
    assert run.json["tracking_error"] < 0.01  # a flipped bit is no tracking error
    columns = run.recording.columns("encoders.position")
    spoilt = (columns.validity == Validity.CORRUPT).all(axis=1)
    assert np.count_nonzero(spoilt) == account["invalid"]
    assert np.isnan(columns.si[spoilt]).all()
    assert not np.isnan(columns.si[~spoilt]).any()


def test_a_line_that_only_garbles_is_a_lost_device(bench: Bench) -> None:
    bench.faults({"kind": "corrupt", "device": "arm", "rate": 1.0, "at_s": AT_S})
    reason = (
        r"arm: arm\.motion has had only corrupt samples for 0\.1\d\d s \(bound 0\.1 s\); check its wiring.*"
    )
    check_stops(bench.run(), 4, "failed", reason)


def test_frames_that_come_twice_are_dropped_and_counted(bench: Bench) -> None:
    bench.faults({"kind": "duplicate", "device": "wrist", "rate": 0.05})
    run = bench.run()
    check_goes_on(run)
    duplicates = run.json["devices"]["wrist"]["duplicate"]
    assert duplicates > 40
    assert f"line      wrist: {duplicates} duplicate" in run.err
    assert run.json["lost"] == 0
    sequence = run.recording.columns("wrist.wrench").sequence
    assert len(np.unique(sequence)) == len(sequence) == run.json["streams"]["wrist.wrench"]["recorded"]


def test_a_counter_that_stands_still_for_a_moment(bench: Bench) -> None:
    bench.faults({"kind": "stuck", "device": "wrist", "at_s": AT_S, "duration_s": 0.05})
    run = bench.run()
    check_goes_on(run)
    assert summary_row(run, "wrist.wrench")["invalid"] == 50
    columns = run.recording.columns("wrist.wrench")
    stale = (columns.validity == Validity.STALE).all(axis=1)
    assert np.flatnonzero(stale).tolist() == list(range(900, 950))
    assert len(set(columns.ticks[stale].tolist())) == 1
    assert (
        abs(run.json["clock_fits"]["wrist"]["pieces"][0]["skew"] - 1) < 1e-4
    )  # the stuck counter was left out


@pytest.mark.parametrize("device", ["wrist", "arm"])
def test_a_counter_that_stands_still_is_a_lost_device(bench: Bench, device: str) -> None:
    bench.faults({"kind": "stuck", "device": device, "at_s": AT_S})
    reason = rf"{device}: {device}\.\w+ has had only stale samples for 0\.1\d\d s \(bound 0\.1 s\); check its wiring.*"
    check_stops(bench.run(), 4, "failed", reason)


def test_an_overloaded_sensor_stops_the_motion(bench: Bench) -> None:
    bench.faults({"kind": "saturate", "device": "wrist", "column": 2, "at_s": AT_S})
    run = bench.run()
    reason = (
        r"wrist\.wrench: z\.force is saturated at sample 900; lower the load on the sensor or slow the motion"
    )
    check_stops(run, 3, "aborted", reason)
    columns = run.recording.columns("wrist.wrench")
    saturated = columns.validity == Validity.SATURATED
    assert saturated[900:, 2].all()
    assert not saturated[:, [0, 1, 3, 4, 5]].any()
    assert np.isnan(columns["z.force"][900:]).all()


def test_frames_that_come_late_are_kept_with_the_time_they_came(bench: Bench) -> None:
    bench.faults({"kind": "late", "device": "wrist", "delay_s": 0.05, "at_s": AT_S})
    run = bench.run()
    check_goes_on(run)
    assert run.json["lost"] == 0
    columns = run.recording.columns("wrist.wrench")
    assert columns.gaps == []
    assert np.diff(columns.host_ns).max() > 45_000_000
    fit = run.json["clock_fits"]["wrist"]["pieces"]
    assert (
        sum(p["n"] * p["residual_mean_ns"] for p in fit) / sum(p["n"] for p in fit) > 0
    )  # and the fit tells


def test_frames_that_come_too_late_are_a_lost_device(bench: Bench) -> None:
    bench.faults({"kind": "late", "device": "wrist", "delay_s": 0.3, "at_s": AT_S})
    check_stops(
        bench.run(), 4, "failed", r"wrist: wrist\.wrench has been silent for 0\.1\d\d s \(bound 0\.1 s\).*"
    )


@pytest.mark.parametrize("at_s", [AT_S, 0.9195])
def test_a_drive_fault_brakes_the_arm(bench: Bench, at_s: float) -> None:
    """At the second time setpoints are refused before the drive's own word arrives; it still is what is told."""
    bench.faults({"kind": "drive_fault", "device": "arm", "joint": "joint3", "at_s": at_s})
    run = bench.run()
    reason = r"arm: drive fault on joint3: the drives are off; clear it and arm again"
    check_stops(run, 4, "failed", reason, held=False)
    encoders = run.recording.columns("encoders.position")
    braked = encoders.host_ns > run.truth["start_ns"] + int((at_s + 0.06) * 1e9)
    assert np.ptp(encoders.values[braked], axis=0).max() <= 1


def test_a_drive_in_fault_is_not_armed(bench: Bench) -> None:
    bench.faults({"kind": "drive_fault", "device": "arm", "joint": "joint3"})
    run = bench.run()
    assert run.code == 4
    assert run.json["reason"].startswith("arm: drive fault on joint3")
    assert run.states == ["connected", "stopping", "failed"]
    assert len(run.recording.columns("arm.sent")) == 0
