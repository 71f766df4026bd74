"""A joint whose torque is none has no part in an answer: found by the fit, or said beforehand."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.identify import Dataset, Result, fit
from heft.identify.certainty.disowned import disowned_torques, said_of_disowned
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.errors import DataError, ModelError
from heft.identify.payload.scales.arm_model import ArmModel

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from random_arms import RandomArm, random_arm

JOINT = 1  # the second of five


@pytest.fixture(scope="module")
def arm() -> RandomArm:
    """Six seconds of motion: what a joint's torque says pulls at all links that it carries."""
    return random_arm(9)


def noisy(data: Dataset) -> Dataset:
    """One joint's torque is noise of a sensor that measures something else."""
    tau = np.array(data.tau)
    tau[:, JOINT] = 0.05 * tau[:, JOINT].std() * np.random.default_rng(0).standard_normal(len(tau))
    return replace(data, tau=tau)


@pytest.fixture(scope="module")
def found(arm: RandomArm) -> Result:
    return fit(arm.robot, noisy(arm.fit), validate=noisy(arm.unseen))


def masses(result: Result) -> np.ndarray:
    """Of the links over their file's."""
    prior = result.prior
    assert prior is not None
    return np.array([link.mass / prior[result.layout.link(link.name)][0] for link in result.parameters.links])


def test_it_is_left_out_and_told(arm: RandomArm, found: Result) -> None:
    joint = arm.robot.joints[JOINT]
    first = found.verdict.reasons[0]
    assert found.verdict.grade == "unfit"
    assert (first.id, first.where) == ("joint-gain", (joint,))
    assert first.text.endswith("this answer is made without its torque (`unmeasured`)")
    assert found.robot.unmeasured == (joint,)
    assert found.provenance.configuration["unmeasured"] == []
    for error in (found.fit, found.validation):
        assert error is not None
        assert error.rows[JOINT] == 0
        assert error.per_joint[JOINT] == 0
        assert error.total < 0.05
    assert Result.from_dict(found.to_dict()).robot.unmeasured == (joint,)


def test_links_weigh_what_the_others_and_the_file_say(found: Result) -> None:
    assert np.all(np.abs(np.log(masses(found))) < np.log(1.5))
    assert abs(found.total_mass / float(found.prior[: 10 * len(found.robot.links) : 10].sum()) - 1) < 0.1  # type: ignore[index]


def test_said_beforehand_it_is_the_same_answer_without_the_blame(arm: RandomArm, found: Result) -> None:
    stated = replace(arm.robot, unmeasured=(arm.robot.joints[JOINT],))
    result = fit(stated, noisy(arm.fit), validate=noisy(arm.unseen))
    assert result.parameters.values.tobytes() == found.parameters.values.tobytes()
    assert "joint-gain" not in {one.id for one in result.verdict.reasons}
    assert result.verdict.grade != "unfit"
    assert result.provenance.configuration["unmeasured"] == [arm.robot.joints[JOINT]]


def test_what_it_measures_does_not_matter(arm: RandomArm) -> None:
    stated = replace(arm.robot, unmeasured=(arm.robot.joints[JOINT],))
    values = {fit(stated, data).parameters.values.tobytes() for data in (arm.fit, noisy(arm.fit))}
    assert len(values) == 1


def test_a_healthy_arm_keeps_its_joints(arm: RandomArm) -> None:
    assert fit(arm.robot, arm.fit).robot.unmeasured == ()


def reason(name: str, severity: str, weight: float, *where: str) -> Reason:
    return Reason(name, severity, "it is so", CAUSE + weight, where)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("findings", "unmeasured", "without"),
    [
        ([reason("joint-gain", "unfit", 50, "b")], (), ("b",)),
        ([reason("constant-torque", "unfit", 50, "b", "c")], (), ("b", "c")),
        ([reason("joint-gain", "unfit", 20, "b")], (), ()),  # not sure enough
        (
            [reason("joint-gain", "unfit", 50, "b"), reason("time-scale", "unfit", 90)],
            (),
            (),
        ),  # another cause
        ([reason("joint-gain", "unfit", 50, "b")], ("b",), ()),
        ([reason("joint-gain", "unfit", 50, "b")], ("c",), ("b",)),
        ([reason("constant-torque", "unfit", 50, "b", "c", "d")], (), ()),  # more than half
        ([reason("joint-gain", "unfit", 50, "b")], ("c", "d"), ()),
        ([], (), ()),
    ],
)
def test_only_the_strongest_cause_disowns_and_never_half_of_the_joints(
    findings: list[Reason], unmeasured: tuple[str, ...], without: tuple[str, ...]
) -> None:
    joints = ("a", "b", "c", "d", "e")
    assert disowned_torques(findings, joints, unmeasured) == without
    assert {joint for one in said_of_disowned(findings, without) for joint in one.where} == set(without)


def test_a_joint_that_is_none_is_refused(arm: RandomArm) -> None:
    with pytest.raises(ModelError, match="has no joint elbow; it has joint1"):
        replace(arm.robot, unmeasured=("elbow",))


def test_one_joint_at_least_is_measured(arm: RandomArm) -> None:
    with pytest.raises(DataError, match="leave fewer of them out"):
        fit(replace(arm.robot, unmeasured=arm.robot.joints), arm.fit, cutoff_hz=5.0)


def test_pickups_need_the_torque_of_all_joints(found: Result) -> None:
    with pytest.raises(DataError, match=r"result\.json: identified without the torque of joint2"):
        ArmModel.of(found, "result.json")
