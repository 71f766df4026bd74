"""Base parameters: they carry every torque, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

from heft.identify.errors import ParameterError
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters

ROWS = [
    {"alpha": -np.pi / 2, "a": 0.1, "d": 0.0},
    {"alpha": 0.0, "a": 0.4, "d": 0.1},
    {"alpha": np.pi / 2, "a": 0.0, "d": 0.2, "kind": "prismatic"},
    {"alpha": 0.3, "a": 0.2, "d": 0.0},
]


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.from_dh(ROWS)


def test_torque_depends_on_base_parameters_alone(robot: Robot) -> None:
    base, rng = base_parameters(robot), np.random.default_rng(0)
    x = rng.standard_normal(len(robot.parameter_names))
    motion = rng.uniform(-2, 2, (3, 50, 4))
    same = np.linalg.lstsq(base.matrix, base.matrix @ x, rcond=None)[0]  # other parameters, same combinations
    assert not np.allclose(same, x)
    assert np.allclose(robot.torque(*motion, same), robot.torque(*motion, x), atol=1e-9)
    directions = null_space(base.matrix)
    assert directions.shape[1] == len(x) - base.rank
    moved = x + directions @ rng.standard_normal(directions.shape[1])
    assert np.allclose(robot.torque(*motion, moved), robot.torque(*motion, x), atol=1e-9)


def test_independent_columns_times_base_values_are_the_torque(robot: Robot) -> None:
    base, rng = base_parameters(robot), np.random.default_rng(1)
    x = rng.standard_normal(len(robot.parameter_names))
    motion = rng.uniform(-2, 2, (3, 50, 4))
    columns = robot.regressor.dense(*motion)[:, :, list(base.independent)]
    assert np.allclose(columns @ (base.matrix @ x), robot.torque(*motion, x), atol=1e-9)


def test_combinations_are_independent(robot: Robot) -> None:
    base = base_parameters(robot)
    assert np.linalg.matrix_rank(base.matrix) == base.rank


def test_groups_cover_all_parameters(robot: Robot) -> None:
    base = base_parameters(robot)
    members = [name for group in base.groups.values() for name in group]
    assert sorted(members) == sorted(robot.parameter_names)
    for name in base.groups["identifiable"]:
        assert name in base.names


def test_the_same_every_time() -> None:
    one, two = base_parameters(Robot.from_dh(ROWS)), base_parameters(Robot.from_dh(ROWS))
    assert one.names == two.names
    assert np.array_equal(one.matrix, two.matrix)


def test_rounded_angles_are_right_angles() -> None:
    exact = base_parameters(Robot.from_dh(ROWS))
    rounded = [{**row, "alpha": round(float(row["alpha"]), 2)} for row in ROWS]
    assert base_parameters(Robot.from_dh(rounded)).names == exact.names


def test_gravity_along_the_first_axis_hides_the_first_link() -> None:
    upright = base_parameters(Robot.from_dh(ROWS[:1], joint_terms=()))
    assert upright.names == ("link1.yy + 0.01 link1.m + 0.2 link1.mx",)
    lying = base_parameters(Robot.from_dh(ROWS[:1], joint_terms=(), gravity=(0.0, -9.81, 0.0)))
    assert lying.names == ("link1.yy - 0.01 link1.m", "link1.mx + 0.1 link1.m", "link1.mz")


def test_condition_number_looks_at_shapes(robot: Robot) -> None:
    base = base_parameters(robot)
    assert base.condition_number(np.eye(len(robot.parameter_names))) == 1.0
    with pytest.raises(ParameterError, match=r"shape \(3, 3\) for 56 parameters"):
        base.condition_number(np.eye(3))
