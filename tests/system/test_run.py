"""`heft run`: what the user gets from a session that goes well."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from heft.commands.run import DEFAULT_SESSION

if TYPE_CHECKING:
    from tests.system.conftest import Bench, Run

pytestmark = pytest.mark.xdist_group("run")  # the tests share one session; run it once

STREAMS = {
    "arm.motion",
    "arm.current",
    "arm.played",
    "arm.sent",
    "encoders.position",
    "wrist.wrench",
    "gripper.state",
}
SCHEMAS = {
    "/arm/motion": "sensor_msgs/msg/JointState",
    "/arm/current": "sensor_msgs/msg/JointState",
    "/wrist/wrench": "geometry_msgs/msg/WrenchStamped",
}
JOINTS = [f"joint{i}" for i in range(1, 8)]


@pytest.fixture(scope="module")
def run(new_bench: Callable[[Path], Bench], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One short session with a payload in its middle, which every test here looks at."""
    bench = new_bench(tmp_path_factory.mktemp("run"))
    bench.session["steps"] = [
        {"name": "sway", "use": "identification", "move": {"to": [0.2, -0.4, 0.1, 1.7, -1.7, 0.1, 0.1]}},
        {"name": "pick", "grip": "bottle"},
        {"name": "back", "use": "payload", "move": {"to": [0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0]}},
        {"name": "drop", "release": True},
    ]
    return bench.run("--seed", "7")


def test_it_ends_well_and_says_so_in_one_json_object(run: Run) -> None:
    assert run.code == 0, run.err
    assert run.out.count("\n") == 1
    assert run.json["state"] == "done"
    assert run.json["reason"] == ""
    assert run.json["lost"] == 0
    assert run.json["file"] == str(run.folder / "short.mcap")
    assert run.json["truth"] == str(run.folder / "short.truth.json")
    assert 0.0 < run.json["tracking_error"] < 0.05


def test_every_stream_is_accounted_for(run: Run) -> None:
    streams = run.json["streams"]
    assert set(streams) == STREAMS
    for name, account in streams.items():
        counts = {account[key] for key in ("expected", "received", "recorded")}
        assert len(counts) == 1, name
        assert counts.pop() > 0
        assert account["lost"] == account["invalid"] == account["gaps"] == 0
        assert account["rate_hz"] == pytest.approx(100 if name == "gripper.state" else 1000, rel=0.05) or (
            name == "arm.sent"  # nothing is sent between two motions
        )
    assert run.json["devices"]["arm"]["received"] == streams["arm.motion"]["received"]
    assert set(run.json["clock_fits"]) == {"arm", "encoders", "wrist", "gripper"}


def test_the_summary_is_for_people(run: Run) -> None:
    """On standard error, because standard output belongs to the JSON object."""
    lines = run.err.splitlines()
    assert lines[-1] == "lost 0"
    assert any(re.fullmatch(r"done after \d+\.\d s", line) for line in lines)
    assert any(re.match(r"stream +expected +received +lost +recorded", line) for line in lines)
    for name in STREAMS:
        assert any(re.match(rf"{re.escape(name)} +(\d+) +\1 +0 +\1 +0 +[\d.]+$", line) for line in lines), (
            name
        )
    assert any(re.match(r"device clock +skew ppm +jitter us", line) for line in lines)
    assert any(re.match(r"wrist +[+-]\d+\.\d+ +\d+\.\d+", line) for line in lines)
    assert any(re.match(r"tracking +worst error \d+\.\d+ mrad", line) for line in lines)


def test_where_it_stands_is_told_in_plain_lines(run: Run) -> None:
    assert re.search(r"^moving +sway +\d+\.\d of \d+\.\d s$", run.err, re.MULTILINE)
    assert "\x1b" not in run.err


def test_without_json_the_summary_is_on_standard_output(bench: Bench) -> None:
    bench.session["steps"] = [{"name": "rest", "wait": 0.1}]
    run = bench.run(json=False)
    assert run.code == 0
    assert run.out.splitlines()[-1] == "lost 0"
    assert "lost" not in run.err


def test_a_recording_that_says_nothing_of_the_arm_is_still_reported(bench: Bench) -> None:
    bench.session["steps"] = [{"name": "rest", "use": "identification", "wait": 0.5}]
    arguments, out = bench.command()
    arguments.remove("--no-identify")
    run = bench.run_arguments(arguments, out)
    assert run.code == 4
    assert run.json["state"] == "done"
    assert run.json["lost"] == 0
    assert "no joint moves" in run.json["identification"]["error"]
    assert f"heft run: recorded, but not identified: {run.json['identification']['error']}" in run.err
    assert run.recording.recovery.ok


def test_the_folder_holds_the_recording_and_the_truth(run: Run) -> None:
    assert run.files == {"short.mcap", "short.truth.json"}


def test_the_recording_is_whole(run: Run) -> None:
    recording = run.recording
    assert recording.recovery.ok, str(recording.recovery)
    assert set(recording.streams) == STREAMS
    for name in STREAMS:
        columns = recording.columns(name)
        assert len(columns) == run.json["streams"][name]["recorded"]
        assert columns.gaps == []
        assert np.all(np.diff(columns.host_ns) >= 0)


def test_states_and_segments_are_in_it(run: Run) -> None:
    assert run.states == [
        "connected",
        *["armed", "moving"] * 2,
        "armed",
        "stopping",
        "done",
    ]
    segments = run.recording.segments
    assert [(s.name, s.use, s.finished) for s in segments] == [
        ("sway", "identification", True),
        ("pick", "motion", True),
        ("back", "payload", True),
        ("drop", "motion", True),
    ]
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(segments))


def test_a_segment_is_where_the_arm_moves(run: Run) -> None:
    sway = run.recording.segments[0]
    played = run.recording.columns("arm.played")
    moving = np.abs(played.quantity("velocity")).max(axis=1) > 0
    inside = (played.host_ns >= sway.start_ns) & (played.host_ns < sway.end_ns)
    assert moving[inside].mean() > 0.97
    before = played.host_ns < sway.start_ns
    assert not moving[before].any()


def test_what_was_played_is_what_was_sent(run: Run) -> None:
    """The drive takes setpoints up by its own clock: equal to within a sample's motion, and equal at the ends."""
    sent, played = run.recording.columns("arm.sent"), run.recording.columns("arm.played")
    q_sent, q_played = sent.quantity("position"), played.quantity("position")
    along = np.column_stack([np.interp(sent.host_ns, played.host_ns, q) for q in q_played.T])
    speed = np.abs(sent.quantity("velocity")).max()
    assert np.abs(along - q_sent).max() < speed * 0.003
    at_rest = np.searchsorted(played.host_ns, run.event("drives_off").t_ns - 20_000_000)
    np.testing.assert_allclose(q_played[at_rest], q_sent[-1], atol=1e-9)


def test_configuration_model_and_facts_travel_inside(run: Run) -> None:
    recording, folder = run.recording, run.folder.parent
    for name in ("session.yaml", "rig.yaml", "robot.yaml", "wam7.xml"):
        assert recording.attachment(f"configuration/{name}") == (folder / name).read_bytes()
    assert recording.metadata["software"]["name"] == "heft"
    assert recording.metadata["software"]["version"]
    assert set(recording.metadata["losses"]) == STREAMS
    assert set(recording.metadata["clock_fits"]) == {"arm", "encoders", "wrist", "gripper"}
    assert set(recording.metadata["counters"]) == {"arm", "encoders", "wrist", "gripper"}
    assert recording.utc_offset_ns > 0


def test_the_truth_is_beside_it(run: Run) -> None:
    truth = run.truth
    parameters = truth["parameters"]
    for link in (f"link{i}" for i in range(1, 8)):
        assert all(
            f"{link}.{k}" in parameters for k in ["m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz"]
        )
    for joint in JOINTS:
        terms = ("drive_inertia", "viscous", "coulomb", "offset")
        assert all(f"{joint}.{term}" in parameters for term in terms)
    assert truth["delays"]["wrist.wrench"] == pytest.approx(0.003)
    assert truth["delays"]["arm.current"] == pytest.approx(0.0013)
    assert set(truth["clocks"]) == {"arm", "encoders", "wrist", "gripper"}
    (bottle,) = truth["payloads"]
    assert bottle["mass"] == pytest.approx(0.53)
    assert bottle["com"] == pytest.approx([0.002, 0.005, 0.151])
    assert np.shape(bottle["inertia"]) == (3, 3)
    pick = next(s for s in run.recording.segments if s.name == "pick")
    assert pick.start_ns <= bottle["t_pick_ns"] <= pick.end_ns + 2_000_000


def test_the_truth_is_not_inside_the_recording(run: Run) -> None:
    """Identification must not be able to look."""
    with (run.folder / "short.mcap").open("rb") as file:
        reader = make_reader(file)
        names = [a.name for a in reader.iter_attachments()] + [m.name for m in reader.iter_metadata()]
    assert not any("truth" in name for name in names)


def test_the_stock_readers_decode_joint_states_and_wrenches(run: Run) -> None:
    """With the `mcap` and `mcap-ros2-support` packages alone, checksums on."""
    path = run.folder / "short.mcap"
    recording = run.recording
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        assert reader.get_header().profile == "ros2"
        found: dict[str, list[Any]] = {topic: [] for topic in SCHEMAS}
        for schema, channel, message, decoded in reader.iter_decoded_messages(topics=list(SCHEMAS)):
            stamp = decoded.header.stamp
            assert stamp.sec * 1_000_000_000 + stamp.nanosec == message.log_time
            assert schema.name == SCHEMAS[channel.topic]
            found[channel.topic].append(decoded)
    motion = recording.columns("arm.motion")
    assert found["/arm/motion"][0].name == JOINTS
    np.testing.assert_array_equal([m.position for m in found["/arm/motion"]], motion.quantity("position"))
    np.testing.assert_array_equal([m.velocity for m in found["/arm/motion"]], motion.quantity("velocity"))
    current = recording.columns("arm.current").quantity("current")
    np.testing.assert_array_equal([m.effort for m in found["/arm/current"]], current)
    wrench = [m.wrench for m in found["/wrist/wrench"]]
    rows = [[w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z] for w in wrench]
    np.testing.assert_array_equal(rows, recording.columns("wrist.wrench").si)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_default_session(bench: Bench) -> None:
    """What `make run` runs, as fast as it can: a Fourier series with its blends, a designed one, nothing lost."""
    bench.session = {"name": "wam7_excitation"}
    bench.write = lambda: DEFAULT_SESSION
    run = bench.run()
    assert run.code == 0, run.err
    assert run.json["lost"] == 0
    excitation, validation = run.recording.segments
    assert (excitation.use, validation.use) == ("identification", "validation")
    for segment, seconds in ((excitation, 24.0), (validation, 20.0)):
        assert (segment.end_ns - segment.start_ns) * 1e-9 == pytest.approx(seconds, abs=0.01)
    assert run.recording.recovery.ok
    assert run.json["tracking_error"] < 0.02


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(300)
def test_in_real_time(bench: Bench) -> None:
    """Nothing is lost, and every device's clock is found: the host's time runs as the devices' does."""
    bench.fourier(15.0)
    run = bench.run(speed="1")
    assert run.code == 0, run.err
    assert run.json["lost"] == 0
    for device, fit in run.json["clock_fits"].items():
        true = run.truth["clocks"][device]["drift_ppm"]
        assert (fit["pieces"][0]["skew"] - 1.0) * 1e6 == pytest.approx(-true, abs=5.0), device
    assert run.json["tracking_error"] < 0.02
