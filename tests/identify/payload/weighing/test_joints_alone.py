"""Pick-ups on an arm without a wrist sensor: its motors are the scale."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest
import yaml

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording
from heft.identify import Dataset, fit
from heft.identify.bodies.consistency import consistency
from heft.identify.data.recorded_robot import robot_of
from heft.identify.errors import DataError
from heft.identify.payload.kinematics.alignment import Samples
from heft.identify.payload.kinematics.wrist_motion import wrist_motion
from heft.identify.payload.pickups.pickup import End
from heft.identify.payload.pickups.pickup_follower import PickupFollower
from heft.identify.payload.pickups.signals import Signal, SignalKind
from heft.identify.payload.scales.arm_model import ArmModel
from heft.identify.payload.scales.joint_scale import JointScale
from heft.identify.payload.weighing.live import LivePayload
from heft.identify.payload.weighing.recorded_pickups import weigh_recording
from heft.identify.robot import Robot

pytestmark = pytest.mark.xdist_group("joints alone")  # the tests share recordings; make them once


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, bench: Any) -> Any:
    """A hammer on a rig without the wrist sensor, and a robot of which nobody says where one would be."""
    folder = tmp_path_factory.mktemp("joints")
    rig = yaml.safe_load((CONFIGS / "rigs" / "sim_wam7.yaml").read_text(encoding="utf-8"))
    robot = yaml.safe_load((CONFIGS / "robots" / "wam7.yaml").read_text(encoding="utf-8"))
    del rig["devices"]["wrist"], robot["sensor"]
    robot["model"] = str(CONFIGS / "robots" / robot["model"])
    rig["robot"] = "robot.yaml"
    (folder / "robot.yaml").write_text(yaml.safe_dump(robot), encoding="utf-8")
    (folder / "rig.yaml").write_text(yaml.safe_dump(rig), encoding="utf-8")
    return bench.record(folder, bench.steps_for("hammer"), rig="rig.yaml")


def arm_of(run: Any, robot: Robot) -> ArmModel:
    """The true arm, and how late its currents really are."""
    values = np.array([run.truth["parameters"][name] for name in robot.parameter_names])
    return ArmModel(values, "the truth", {"arm.current": run.truth["delays"]["arm.current"]})


def test_weighed_by_the_joints(run: Any) -> None:
    robot = robot_of(Recording.open(run.file))
    weighed = weigh_recording(Recording.open(run.file), robot=robot, arm=arm_of(run, robot))
    (facts,) = weighed.to_dict()["payloads"]
    (truth,) = run.truth["payloads"]
    assert (facts["state"], facts["weighed_by"]) == ("released", "joint torques")
    assert facts["mass"] == pytest.approx(truth["mass"], rel=0.03)
    assert abs(facts["mass"] - truth["mass"]) < 4 * facts["std"]["mass"]
    assert np.abs(np.array(facts["com"]) - truth["com"]).max() < 5e-3
    assert facts["t_pick"] == pytest.approx(truth["t_pick"], abs=0.05)
    assert "sensor_frame" not in facts
    (pickup,) = weighed.pickups
    assert all(consistency(one.estimate.ten, "full").ok for one in pickup.estimates)


@pytest.mark.slow
def test_the_same_live(run: Any) -> None:
    recording = Recording.open(run.file)
    robot = robot_of(recording)
    streams = {name: stream for name, stream in recording.streams.items() if stream.role == "measured"}
    live = LivePayload(streams, robot, arm=arm_of(run, robot))
    blocks = heapq.merge(*(recording.blocks(name) for name in streams), key=lambda block: block.host_ns[-1])
    news = [pickup for block in blocks for pickup in live.take([block])]
    assert news[0].t_first is not None
    assert news[-1].end is End.RELEASED
    assert live.hand is None
    (offline,) = weigh_recording(Recording.open(run.file), robot=robot, arm=arm_of(run, robot)).pickups
    assert offline.latest is not None
    assert news[-1].latest is not None
    told, later = news[-1].latest.estimate, offline.latest.estimate
    assert abs(told.mass - later.mass) < later.std.mass  # its clock was fitted as it went


def test_without_the_arm_there_is_no_scale(run: Any) -> None:
    with pytest.raises(DataError, match=r"no stream with a wrist's wrench.*--result RESULT.json"):
        weigh_recording(Recording.open(run.file))


# -- made-up torques ---------------------------------------------------------------------------------------------------

LOAD = np.array([1.0, 0.02, 0.0, 0.12, 0.016, 0.0, 0.016, 0.0, -0.001, 0.002])
HELD, OPEN = SignalKind.HELD, SignalKind.OPEN


def follow(
    loads: list[tuple[float, float, Any]],
    *signals: tuple[float, SignalKind],
    gain: Any = 1.0,
    arm: ArmModel | None = None,
) -> list[Any]:
    """A WAM that moves for ten seconds with dry friction somewhat off; `loads` from one time to another [s].

    `gain` is what its drives report of a torque of 1, `arm` what is known of it.
    """
    robot = Robot.load(CONFIGS / "robots" / "wam7.yaml")
    assert robot.prior is not None
    rng = np.random.default_rng(5)
    t = np.arange(10_000) / 1000.0
    w, phase, centre = 2 * np.pi * 0.3, rng.uniform(0, 6, 7), np.array([0.0, -0.5, 0.0, 1.8, -1.8, 0.1, 0.0])
    angle = w * t[:, None] + phase
    q, dq, ddq = centre + 0.3 * np.sin(angle), 0.3 * w * np.cos(angle), -0.3 * w**2 * np.sin(angle)
    names = robot.parameter_names
    columns = [i for i, name in enumerate(names) if name.startswith(f"{robot.links[-1]}.")]
    rows = robot.regressor.dense(q, dq, ddq)[:, :, columns]
    rubbed = robot.prior * np.array([1.05 if name.endswith("coulomb") else 1.0 for name in names])
    torque = robot.torque(q, dq, ddq, rubbed)
    for start, end, ten in loads:
        held = (t >= start) & (t < end)
        torque[held] += rows[held] @ ten
    torque += np.array([0.07, 0.4, 0.08, 0.1, 0.01, 0.015, 0.0012]) * rng.standard_normal(torque.shape)
    torque *= gain
    follower = PickupFollower(JointScale(robot, arm or ArmModel(robot.prior, "its file")))
    for time, kind in signals:
        follower.signal(Signal(time, kind, "gripper.state"))
    follower.take(Samples(t, torque, wrist_motion(robot, q, dq, ddq, "flange"), q, dq, ddq))
    return follower.finish()


def test_held_and_released() -> None:
    (pickup,) = follow([(3.0, 8.0, LOAD)], (3.01, HELD), (8.01, OPEN))
    assert pickup.end is End.RELEASED
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.03)
    assert abs(pickup.latest.estimate.mass - 1.0) < 4 * pickup.latest.estimate.std.mass


@pytest.mark.parametrize(
    "gain",
    [
        pytest.param(np.full(7, 0.88), marks=pytest.mark.slow),
        np.array([1.12, 0.95, 1.06, 0.92, 1.0, 1.1, 0.97]),
    ],
)
def test_gains_that_are_not_sure_are_part_of_the_interval(gain: np.ndarray) -> None:
    """The arm is identified with the same drives, so the load is off by what they are."""
    robot = Robot.load(CONFIGS / "robots" / "wam7.yaml")
    assert robot.prior is not None
    rng = np.random.default_rng(2)
    t = np.arange(0.0, 20.0, 0.01)
    w, phase = 2 * np.pi * rng.uniform(0.1, 0.5, (3, 7)), rng.uniform(0, 6, (3, 7))
    size, angle = rng.uniform(0.1, 0.3, (3, 7)), t[:, None, None] * w + phase
    q, dq, ddq = ((size * w**k * np.sin(angle + k * np.pi / 2)).sum(axis=1) for k in range(3))
    q = q + np.array([0.0, -0.5, 0.0, 1.8, -1.8, 0.1, 0.0])
    tau = robot.torque(q, dq, ddq, robot.prior) + 0.02 * rng.standard_normal(q.shape)
    result = fit(robot, Dataset.from_arrays(t, q, gain * tau), cutoff_hz=5.0)
    held = [(3.0, 8.0, LOAD)], (3.01, HELD), (8.01, OPEN)
    (pickup,) = follow(*held, gain=gain, arm=ArmModel.of(result, "fit", gain_spread=0.1))
    low, high = pickup.latest.estimate.interval("mass")
    assert low < 1.0 < high
    assert pickup.latest.estimate.std.mass == pytest.approx(0.09, abs=0.03)
    assert "mass" not in pickup.latest.estimate.prior_dominated


def test_a_drop_ends_the_estimate() -> None:
    (pickup,) = follow([(3.0, 6.0, LOAD)], (3.01, HELD), (8.0, OPEN))
    assert pickup.end is End.DROPPED
    assert pickup.t_end == pytest.approx(6.0, abs=0.2)
    assert pickup.latest.estimate.mass == pytest.approx(1.0, rel=0.03)


def test_no_weight_is_nothing() -> None:
    (pickup,) = follow([], (3.0, HELD), (8.0, OPEN))
    assert pickup.end is End.NOTHING


def test_two_loads_one_after_the_other() -> None:
    first, second = follow(
        [(2.0, 4.5, LOAD), (6.0, 9.0, 0.5 * LOAD)], (2.0, HELD), (4.5, OPEN), (6.0, HELD), (9.0, OPEN)
    )
    assert (first.end, second.end) == (End.RELEASED, End.RELEASED)
    assert first.latest.estimate.mass == pytest.approx(1.0, rel=0.03)
    assert second.latest.estimate.mass == pytest.approx(0.5, rel=0.06)
