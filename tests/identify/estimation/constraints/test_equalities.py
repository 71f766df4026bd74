"""Linear equalities as rows: their solutions, contradictions, and what a robot's file says."""

from dataclasses import replace

import numpy as np
import pytest

from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.pseudo_inertia import from_pseudo_inertia, pseudo_inertia
from heft.identify.errors import ModelError, ProblemError
from heft.identify.estimation.constraints.declared import declared
from heft.identify.estimation.constraints.equalities import Equalities
from heft.identify.robot import Robot
from heft.identify.robot.constraints import RobotConstraints


def equalities(rows: list[list[float]], values: list[float], std: float = 0.0) -> Equalities:
    names = tuple(f"c{k}" for k in range(len(values)))
    return Equalities(np.array(rows), np.array(values), np.full(len(values), std), names)


def test_solutions_fulfil_them_and_are_near() -> None:
    two = equalities([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]], [3.0, 6.0])  # the second says the same
    point, null = two.solutions(np.array([1.0, 1.0, 5.0]), np.ones(3))
    np.testing.assert_allclose(point, [1.5, 1.5, 5.0])
    assert null.shape == (3, 2)
    np.testing.assert_allclose(two.rows @ null, 0.0, atol=1e-12)


def test_those_that_contradict_each_other_are_named() -> None:
    with pytest.raises(ProblemError, match=r"contradict each other: c0; c1"):
        equalities([[1.0, 1.0], [1.0, 1.0]], [3.0, 3.001]).solutions(np.zeros(2), np.ones(2))


def robot_with(arm_robot: Robot, prior: np.ndarray, **constraints: object) -> Robot:
    return replace(arm_robot, prior=prior, constraints=RobotConstraints(**constraints))  # type: ignore[arg-type]


def test_every_key_of_the_file(arm) -> None:
    robot = robot_with(
        arm.robot,
        arm.truth,
        total_mass=(12.5, 0.02),
        equal=(("link1", "link2", "link3"),),
        pinned=("link4",),
        mirrored=(("link2", "link3", (0.0, 3.0, 0.0)),),
        com_on_line={"link4": ((0.1, 0.0, 0.0), (0.0, 0.0, 2.0))},
    )
    known, layout = declared(robot, robot.prior), Layout(robot.parameter_names)
    assert known.distinct == (
        "total_mass == 12.5",
        "link1 == link2",
        "link1 == link3",
        "link4 == prior",
        "link2 == mirrored link3",
        "link4.com on its line",
    )
    d = np.random.default_rng(0).normal(size=len(layout))
    left = {name: known.only(name).rows @ d - known.only(name).values for name in known.distinct}
    one, two, three, four = (d[layout.link(link)] for link in layout.links)
    assert left["total_mass == 12.5"] == pytest.approx([one[0] + two[0] + three[0] + four[0] - 12.5])
    assert known.only("total_mass == 12.5").std == pytest.approx([0.02])
    np.testing.assert_allclose(left["link1 == link3"], one - three)
    np.testing.assert_allclose(left["link4 == prior"], four - robot.prior[layout.link("link4")])
    mirror = np.diag([1.0, -1.0, 1.0, 1.0])
    image = from_pseudo_inertia(mirror @ pseudo_inertia(two) @ mirror)
    np.testing.assert_allclose(left["link2 == mirrored link3"], image - three, atol=1e-12)
    across = np.cross([0, 0, 1.0], four[1:4] - four[0] * np.array([0.1, 0, 0]))
    np.testing.assert_allclose(left["link4.com on its line"], across[:2], atol=1e-12)  # and 0 = 0


def test_they_travel_with_the_robot(arm) -> None:
    robot = robot_with(
        arm.robot, arm.truth, total_mass=(12.5, 0.0), pinned=("link4",), equal=(("link1", "link2"),)
    )
    again = Robot.from_dict(robot.to_dict())
    assert again.constraints == robot.constraints
    assert "constraints" not in arm.robot.to_dict()


def test_a_link_that_is_none(arm) -> None:
    with pytest.raises(ModelError, match="constraints name hand, which is none of link1"):
        replace(arm.robot, constraints=RobotConstraints(pinned=("hand",)))


def test_pinned_without_a_prior(arm) -> None:
    robot = replace(arm.robot, constraints=RobotConstraints(pinned=("link4",)))
    with pytest.raises(ProblemError, match="link4 is pinned to its prior, and there is none"):
        declared(robot, None)
