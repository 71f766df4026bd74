"""Pick-ups of recordings, against what really happened."""

from __future__ import annotations

import heapq
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording
from heft.drivers.plant.inertia import Inertia
from heft.identify.bodies.consistency import consistency
from heft.identify.data.recorded_robot import robot_of
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.pickups.pickup import End
from heft.identify.payload.scales.arm_model import ArmModel
from heft.identify.payload.weighing.live import LivePayload
from heft.identify.payload.weighing.recorded_pickups import weigh_recording
from heft.identify.robot import Robot

pytestmark = pytest.mark.xdist_group("hammer")  # the tests share recordings; make them once

DOWN = (3.03444, -9.10331, 2.02296)  # [m/s2], of an arm on a wall


@pytest.fixture(scope="module")
def weighed(hammer: Any) -> Any:
    robot = robot_of(Recording.open(hammer.file))
    arm = ArmModel(
        np.array([hammer.truth["parameters"][name] for name in robot.parameter_names]), "the truth"
    )
    return weigh_recording(Recording.open(hammer.file), robot=robot, arm=arm)


def test_one_pickup_close_to_the_truth(hammer: Any, weighed: Any) -> None:
    (facts,) = weighed.to_dict()["payloads"]
    (truth,) = hammer.truth["payloads"]
    assert facts["state"] == "released"
    assert facts["mass"] == pytest.approx(truth["mass"], rel=0.005)
    assert np.abs(np.array(facts["com"]) - truth["com"]).max() < 1e-3
    assert facts["prior_dominated"] == []
    largest = np.linalg.eigvalsh(_about_com(truth))[-1]
    assert max(facts["principal"]["moments"]) == pytest.approx(largest, rel=0.05)
    z = (np.array(facts["inertia"]) - truth["inertia"]) / np.array(facts["std"]["inertia"])
    assert np.abs(z).max() < 4
    assert abs(facts["t_pick"] - truth["t_pick"]) < 0.03
    assert 0 < facts["t_first"] - truth["t_pick"] < 0.1


def test_mass_half_a_second_after_lifting(hammer: Any, weighed: Any) -> None:
    (pickup,) = weighed.pickups
    still = [e for e in pickup.estimates if e.time - pickup.t_pick <= 0.5][-1].estimate
    assert still.mass == pytest.approx(hammer.truth["payloads"][0]["mass"], rel=0.02)
    assert "inertia" in still.prior_dominated


def test_every_estimate_can_exist(weighed: Any) -> None:
    (pickup,) = weighed.pickups
    assert len(pickup.estimates) > 20
    assert all(consistency(one.estimate.ten, "full").ok for one in pickup.estimates)


def test_the_hand_and_the_delay_are_found(hammer: Any, weighed: Any) -> None:
    assert weighed.hand.delay_s == pytest.approx(hammer.truth["delays"]["wrist.wrench"], abs=2e-4)
    assert 0.5 < weighed.hand.mass < 1.1


@pytest.mark.slow
def test_by_joint_torques_too(hammer: Any, weighed: Any) -> None:
    (facts,) = weighed.to_dict()["payloads"]
    assert facts["joint_torque"]["mass"] == pytest.approx(hammer.truth["payloads"][0]["mass"], rel=0.03)


def test_the_json_keeps_to_its_schema(weighed: Any) -> None:
    text = json.dumps(weighed.to_dict(), allow_nan=False)
    schema = json.loads((files("heft.identify.payload") / "payload.schema.json").read_text(encoding="utf-8"))
    for facts in json.loads(text)["payloads"]:
        assert set(schema["required"]) <= set(facts)
        assert set(facts) <= set(schema["properties"])


@pytest.mark.slow
def test_a_drop_during_the_motion_ends_the_estimate(tmp_path: Path, bench: Any) -> None:
    run = bench.record(
        tmp_path, bench.steps_for("block"), meddle=lambda world: world.schedule(10.5, world.drop)
    )
    (pickup,) = weigh_recording(Recording.open(run.file)).pickups
    (truth,) = run.truth["payloads"]
    assert pickup.end is End.DROPPED
    assert pickup.t_end == pytest.approx(truth["t_drop"] + 1.0, abs=0.05)
    assert pickup.latest.estimate.mass == pytest.approx(truth["mass"], rel=0.005)


@pytest.mark.slow
def test_a_slip_is_not_a_drop(tmp_path: Path, bench: Any) -> None:
    """The block turns between the fingers: same weight, elsewhere."""

    def slip(world: Any) -> None:
        inertia = np.diag([0.00091, 0.00133, 0.00107])
        world.schedule(10.5, lambda: world.pick("block", Inertia.of(1.6, (0.03, 0.0, 0.175), inertia)))

    run = bench.record(tmp_path, bench.steps_for("block"), meddle=slip)
    (pickup,) = weigh_recording(Recording.open(run.file)).pickups
    assert pickup.end is End.SLIPPED
    assert pickup.t_end == pytest.approx(run.truth["payloads"][1]["t_pick"] + 1.0, abs=0.08)
    assert pickup.latest.estimate.mass == pytest.approx(1.6, rel=0.005)


def test_nothing_between_the_fingers(tmp_path: Path, bench: Any) -> None:
    steps = [
        {"name": "still", "wait": 0.6},
        {"name": "take", "grip": ""},
        {"name": "hold", "wait": 0.5},
        {"name": "let go", "release": True},
        {"name": "after", "wait": 0.3},
    ]
    report = weigh_recording(Recording.open(bench.record(tmp_path, steps).file)).to_dict()
    assert report["payloads"] == []
    (nothing,) = report["nothing"]
    assert nothing["state"] == "nothing"
    assert any("nothing was picked up" in note for note in report["notes"])


@pytest.mark.slow
def test_without_bare_motion_the_hand_is_unknown_and_the_mass_is_known(tmp_path: Path, bench: Any) -> None:
    run = bench.record(tmp_path, bench.steps_for("hammer", bare=False, seconds=1.0))
    weighed = weigh_recording(Recording.open(run.file))
    (facts,) = weighed.to_dict()["payloads"]
    assert weighed.hand is None
    assert facts["mass"] == pytest.approx(run.truth["payloads"][0]["mass"], rel=0.02)
    assert set(facts["prior_dominated"]) == {"com", "inertia"}
    assert any("--bare" in note for note in facts["notes"])
    (boxed,) = weigh_recording(Recording.open(run.file), prior=ObjectPrior(dimensions=(0.1,) * 3)).to_dict()[
        "payloads"
    ]
    assert "com" in boxed["prior_dominated"]  # whatever is known of the shape


@pytest.mark.slow
def test_bare_motion_after_the_pickup_tells_the_hand_as_well(tmp_path: Path, bench: Any) -> None:
    steps = bench.steps_for("hammer", bare=False, seconds=2.0)
    bare = [*bench.steps_for("hammer", seconds=2.0)[:2], {"name": "rest", "wait": 1.0}]
    run = bench.record(tmp_path, steps + bare)
    weighed = weigh_recording(Recording.open(run.file))
    (facts,), (truth,) = weighed.to_dict()["payloads"], run.truth["payloads"]
    assert weighed.hand is not None
    assert facts["mass"] == pytest.approx(truth["mass"], rel=0.005)
    assert facts["com"] == pytest.approx(truth["com"], abs=1e-3)
    recording = Recording.open(run.file)
    live = LivePayload(recording.streams, robot_of(recording))
    names = (live.names.position, live.names.wrench, live.names.gripper)
    for block in heapq.merge(*map(recording.blocks, names), key=lambda block: block.host_ns[-1]):
        live.take([block])
    assert live.hand is not None  # from what it did alone, not with the hammer
    assert live.hand.mass == pytest.approx(
        run.truth["hand"]["mass"], abs=5 * live.hand.covariance[0, 0] ** 0.5
    )


@pytest.mark.slow
def test_lost_samples_cost_a_little_and_no_more(tmp_path: Path, bench: Any) -> None:
    rig = str(CONFIGS / "rigs" / "sim_wam7_lossy.yaml")
    run = bench.record(tmp_path, bench.steps_for("hammer", seconds=1.0), rig=rig)
    (facts,), (truth,) = (
        weigh_recording(Recording.open(run.file)).to_dict()["payloads"],
        run.truth["payloads"],
    )
    assert facts["state"] == "released"
    assert facts["mass"] == pytest.approx(truth["mass"], rel=0.005)
    assert facts["com"] == pytest.approx(truth["com"], abs=1e-3)


@pytest.fixture(scope="module")
def on_the_wall(tmp_path_factory: pytest.TempPathFactory, bench: Any) -> Any:
    """The rig with its arm on a wall: gravity across its base."""
    folder = tmp_path_factory.mktemp("wall")
    for name in ("wam7.xml", "wam7.yaml"):
        text = (CONFIGS / "robots" / name).read_text(encoding="utf-8")
        text = text.replace('gravity="0 0 -9.81"', f'gravity="{DOWN[0]} {DOWN[1]} {DOWN[2]}"')
        text = text.replace("gravity: [0.0, 0.0, -9.81]", f"gravity: {list(DOWN)}")
        (folder / name).write_text(text, encoding="utf-8")
    rig = (CONFIGS / "rigs" / "sim_wam7.yaml").read_text(encoding="utf-8")
    (folder / "rig.yaml").write_text(rig.replace("../robots/wam7.yaml", "wam7.yaml"), encoding="utf-8")
    return bench.record(folder, bench.steps_for("hammer"), rig=str(folder / "rig.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize(("knows", "asked"), [(True, False), (False, True), (False, False)])
def test_on_a_wall(on_the_wall: Any, knows: bool, asked: bool) -> None:
    """As the robot's file says; or found, with a file that knows nothing of the wall, and told when nobody asked."""
    robot = None if knows else Robot.load(CONFIGS / "robots" / "wam7.yaml")
    weighed = weigh_recording(Recording.open(on_the_wall.file), robot=robot, find_gravity=asked)
    (facts,), (truth,) = weighed.to_dict()["payloads"], on_the_wall.truth["payloads"]
    assert any("mounted otherwise" in note for note in weighed.notes) == (not knows and not asked)
    assert facts["gravity"] == pytest.approx(DOWN, abs=0.02)
    assert facts["mass"] == pytest.approx(truth["mass"], rel=0.005)
    assert facts["com"] == pytest.approx(truth["com"], abs=1e-3)


def _about_com(truth: Any) -> Any:
    c = np.array(truth["com"])
    return np.array(truth["inertia"]) - truth["mass"] * (c @ c * np.eye(3) - np.outer(c, c))
