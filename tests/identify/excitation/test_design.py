"""Whole designs of small arms: every bound is kept, equal seeds give equal motions, and what cannot be done is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from heft.daq.config.robot import RobotConfig
from heft.daq.config.scene import ObstacleConfig, SceneConfig
from heft.daq.trajectory.checks import check_motion
from heft.daq.trajectory.wrist import wrist_excitation
from heft.identify.errors import ProblemError
from heft.identify.excitation.arm_path import arm_section
from heft.identify.excitation.chain import design_chain
from heft.identify.excitation.design import Design, conditioning, design, telling
from heft.identify.excitation.design_text import design_text
from heft.identify.excitation.page import design_page
from heft.identify.excitation.search import Candidate
from heft.identify.excitation.starting import posture
from heft.identify.robot.base import base_parameters

from .conftest import request_for


@pytest.fixture(scope="module")
def made(ddarm: RobotConfig) -> Design:
    return design(request_for(ddarm, criterion="condition", seconds=10.0))


def test_every_limit_is_kept_and_the_condition_is_the_products_own(made: Design) -> None:
    robot, limits = made.request.robot, made.request.limits
    q, dq, ddq = made.series.at(np.arange(10_000) / 1000.0)
    assert np.all((q <= limits.upper) & (q >= limits.lower))
    assert np.all(np.abs(dq) <= limits.velocity)
    assert np.all(np.abs(ddq) <= limits.acceleration)
    bound = [joint.torque for joint in made.request.config.joints.values()]
    assert np.all(np.abs(robot.torque(q, dq, ddq, robot.prior)) <= bound)
    assert made.limits_ok
    assert made.worst_limit.share <= 1.0
    W = robot.regressor.dense(q, dq, ddq).reshape(-1, len(robot.parameter_names))
    assert base_parameters(robot).condition_number(W) == pytest.approx(made.condition_number, rel=0.01)
    assert made.condition_number < 0.5 * made.before.condition_number


def test_a_condition_number_says_what_it_comes_from() -> None:
    rows = np.random.default_rng(0).standard_normal((200, 3))
    small, weakest = conditioning(rows * [1.0, 1e-3, 2.0], ("a", "b", "c"))
    assert small == pytest.approx(2000.0, rel=0.2)
    assert weakest.parameters == ("b",)
    assert weakest.without < 3.0
    assert weakest.why(small).startswith("torques by b are small beside those by c (")
    rows[:, 1] = rows[:, 0] + 1e-3 * rows[:, 1]
    alike, weakest = conditioning(rows, ("a", "b", "c"))
    assert set(weakest.parameters) == {"a", "b"}
    assert weakest.why(alike).startswith(("torques by a, b look alike", "torques by b, a look alike"))


def test_equal_requests_give_equal_files(made: Design) -> None:
    again = design(request_for(made.request.config, criterion="condition", seconds=10.0))
    assert design_text(again, "0") == design_text(made, "0")


def test_the_page_needs_nothing_else(made: Design) -> None:
    page = design_page(made)
    assert "Expected standard deviations" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count('class="bone"') == 24
    assert 'class="floor"' not in page  # it lies in the plane z = 0 half of the time


def test_obstacles_stand_in_the_drawing(ddarm: RobotConfig, made: Design) -> None:
    solids = {
        "crate": {"box": (0.2, 0.3, 0.4)},
        "ball": {"sphere": 0.1},
        "post": {"cylinder": {"radius": 0.1, "length": 1.0}},
        "wall": {"plane": {"normal": (-2.0, 0.0, 0.0), "offset": -4.0}},
    }
    around = {name: ObstacleConfig.model_validate(solid) for name, solid in solids.items()}
    scene = ddarm.scene.extended(SceneConfig(obstacles=around))
    drawn = arm_section(replace(made, request=replace(made.request, scene=scene)))
    assert "dashed: crate, ball, post, wall" in drawn
    assert drawn.count('class="prior"') == (2 + 5) + 3 + (2 + 5) + 1


def test_the_file_is_read_and_played(made: Design, tmp_path) -> None:
    from heft.daq.config.design_file import load_design

    path = tmp_path / "d.yaml"
    path.write_text(design_text(made, "0"), encoding="utf-8")
    motion = load_design(path).motion(made.request.limits, 1000.0)
    assert motion.begins_at_rest
    assert motion.ends_at_rest
    assert motion.duration_s == pytest.approx(10.0)
    check_motion(motion, made.request.limits)


@pytest.mark.slow
def test_several_starts_in_processes_give_what_one_process_gives(
    ddarm: RobotConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which process does what, and how many there are, does not matter."""
    request = request_for(ddarm, seconds=8.0, harmonics=3, starts=3)
    side_by_side = design(request)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    alone = design(request_for(ddarm, seconds=8.0, harmonics=3, starts=3))
    assert design_text(side_by_side, "0") == design_text(alone, "0")
    assert side_by_side.limits_ok


@pytest.mark.slow
def test_a_host_that_is_late_from_the_first_gives_a_motion_still(ddarm: RobotConfig) -> None:
    """The budget is over before any process has begun."""
    assert design(request_for(ddarm, seconds=8.0, harmonics=3, starts=2, budget_s=1e-3)).limits_ok


@pytest.mark.parametrize("dwell", [False, True])
def test_chains_of_moves_and_poses(ddarm: RobotConfig, dwell: bool) -> None:
    chain = design_chain(request_for(ddarm, seconds=15.0), dwell=dwell)
    assert chain.poses is not None
    assert len(chain.poses) >= 3
    assert chain.worst_limit.share <= 1.0
    assert "chain:" in design_text(chain, "0")


def test_a_chain_heeds_starts_criterion_and_budget(ddarm: RobotConfig) -> None:
    """The chain that is best by what was asked for, of as many as were asked for; the first is always grown."""
    tried: dict[str, list[Candidate]] = {}
    for criterion in ("d", "condition"):
        found = tried[criterion] = []
        request = request_for(ddarm, seconds=10.0, starts=4, criterion=criterion)
        made = design_chain(request, dwell=False, tell=found.append)
        assert [one.start for one in found] == [0, 1, 2, 3]
        assert made.candidate.value == min(one.value for one in found)
        alone = design_chain(request_for(ddarm, seconds=10.0, starts=1, criterion=criterion), dwell=False)
        assert made.candidate.value <= alone.candidate.value == found[0].value
    assert np.log(made.condition_number) == pytest.approx(made.candidate.value, abs=0.1)
    late: list[Candidate] = []
    design_chain(request_for(ddarm, seconds=10.0, starts=4, budget_s=1e-9), dwell=False, tell=late.append)
    assert len(late) == 1


def test_limits_too_tight_are_named(ddarm: RobotConfig) -> None:
    slow = ddarm.joints["joint2"].model_copy(update={"velocity": 1e-3})
    tight = ddarm.model_copy(update={"joints": ddarm.joints | {"joint2": slow}})
    with pytest.raises(ProblemError, match=r"joint2: its velocity limit lets it move by 0\.005 rad in 20 s"):
        design(request_for(tight))


def test_a_joint_goes_as_far_as_it_has_to(ddarm: RobotConfig) -> None:
    least = {"joint1": 1.0, "joint3": 4.4}
    asked = ddarm.excitation.model_copy(update={"least_use": least})
    config = ddarm.model_copy(update={"excitation": asked})
    made = design(request_for(config, seconds=6.0, harmonics=3))
    assert made.limits_ok
    way = dict(zip(made.request.limits.axes, np.ptp(made.motion[0], axis=0), strict=True))
    assert all(way[name] >= value for name, value in least.items())
    with pytest.raises(ProblemError, match=r"joint1: its .* limit lets it move by at most .* asks for 1 rad"):
        design(request_for(config, seconds=0.7))


def test_a_range_outside_the_limits_is_named(ddarm: RobotConfig) -> None:
    beyond = ddarm.excitation.model_copy(update={"ranges": {"joint2": (7.0, 8.0)}})
    with pytest.raises(
        ProblemError, match=r"excitation\.ranges\.joint2: 7 to 8 leaves nothing of its limits"
    ):
        design(request_for(ddarm.model_copy(update={"excitation": beyond})))


def test_a_payload_is_told_twice_as_well_as_by_the_wrist_motion(panda: RobotConfig) -> None:
    """From the same posture in the same time; its weight is told by gravity, whatever the wrist does."""
    request = request_for(panda, target="payload", seconds=5.0)
    made = design(request)
    usual = wrist_excitation(request.limits, made.motion[0][0], rate_hz=200.0, seconds=5.0)
    window = usual.window(0, len(usual))
    told = telling(request, (window.position, window.velocity, window.acceleration))
    assert made.limits_ok
    assert np.median(told.std / made.telling.std) > 2.0


def test_torque_of_one_newton_metre_is_named(panda: RobotConfig) -> None:
    weak = {name: joint.model_copy(update={"torque": 1.0}) for name, joint in panda.joints.items()}
    with pytest.raises(ProblemError, match=r"torque of joint\d: .* N m to stand still, its limit is 1 N m"):
        design(request_for(panda.model_copy(update={"joints": weak})))


def test_an_obstacle_around_the_arm_is_named(panda: RobotConfig) -> None:
    shell = SceneConfig(obstacles={"shell": ObstacleConfig(sphere=2.0)})
    with pytest.raises(ProblemError, match=r"link\d and shell: -\d.* m apart, 0\.02 m are kept"):
        design(request_for(panda, shell))


def test_a_posture_is_found_in_a_small_workspace(panda: RobotConfig) -> None:
    """No random posture has the flange in a box of 10 cm; those nearby are moved into it."""
    low, high = np.array([0.4, 0.1, 0.4]), np.array([0.5, 0.2, 0.5])
    request = request_for(panda, SceneConfig(workspace=(tuple(low), tuple(high))))
    found = np.array([posture(request, np.random.default_rng(k), k) for k in range(4)])
    points, _ = request.surroundings.flange(found)
    assert np.all((points > low) & (points < high))
    assert np.all(request.surroundings.distances(found) > request.surroundings.wanted)
    assert len(np.unique(found, axis=0)) > 1


def test_a_posture_in_collision_is_named(panda: RobotConfig) -> None:
    through = np.array([0.0, 1.7, 0.0, -0.3, 0.0, 1.6, 0.0])
    with pytest.raises(ProblemError, match="the posture to begin at is not free: link"):
        design(request_for(panda, posture=through))


@pytest.mark.parametrize("value", [9.0, float("nan")])
def test_a_posture_outside_the_limits_is_named(panda: RobotConfig, value: float) -> None:
    posture = np.array([0.0, -0.5, value, -2.0, 0.0, 1.6, 0.8])
    with pytest.raises(ProblemError, match=rf"--posture: joint3 at {value:g} rad, its range is -2\.\d+ to 2"):
        design(request_for(panda, posture=posture))
