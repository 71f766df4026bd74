"""An arm on a force plate: what the plate tells alone, and that both together beat either."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit
from heft.identify.bodies import transform
from heft.identify.fit import Signals
from heft.identify.robot.identifiability import identifiability

ARM = Path(__file__).parents[2] / "configs" / "robots" / "wam7_on_plate.yaml"
KNOWN = Signals(delay_s=0.0)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(ARM).with_terms(("offset",))


@pytest.fixture(scope="module")
def truth(robot: Robot) -> np.ndarray:
    rng = np.random.default_rng(2)
    assert robot.prior is not None
    links = robot.prior[: 10 * len(robot.links)].reshape(-1, 10)
    moved = [
        transform(ten * np.exp(0.1 * rng.normal()), np.eye(3), 0.005 * rng.normal(size=3)) for ten in links
    ]
    return np.concatenate(moved)


def motion(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 20.0, 0.005)
    q, dq, ddq = np.zeros((3, len(t), 7))
    for k in range(1, 6):
        turn, part = 2 * np.pi * 0.1 * k, 0.35 * rng.normal(size=7)
        phase = turn * t[:, None] + rng.uniform(0, 6, 7)
        q += part * np.sin(phase)
        dq += part * turn * np.cos(phase)
        ddq -= part * turn**2 * np.sin(phase)
    return t, q, dq, ddq


def rows(robot: Robot, links: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """Time, positions, torques and the plate's wrench, without noise."""
    both = robot.measuring(("joints", "plate"))
    t, q, dq, ddq = motion(seed)
    parameters = np.zeros(len(both.parameter_names))
    parameters[: len(links)] = links
    found = both.regressor.torque(q, dq, ddq, parameters)
    return t, q, found[:, :7], found[:, 7:]


def recorded(robot: Robot, truth: np.ndarray, sources: tuple[str, ...]) -> Dataset:
    t, q, torque, wrench = rows(robot, truth, 1)
    rng = np.random.default_rng(3)
    torque = torque + 0.3 * rng.normal(size=torque.shape)
    wrench = wrench + 20.0 + rng.normal(size=wrench.shape) * np.array([0.5] * 3 + [0.1] * 3)
    return Dataset.from_arrays(
        t,
        q,
        torque if "joints" in sources else None,
        wrenches={"plate": wrench} if "plate" in sources else {},
    )


def misses(robot: Robot, result: Result, truth: np.ndarray) -> np.ndarray:
    """Errors of torques and of the plate's wrench on another motion, means taken off, over their sizes, (2,)."""
    links = result.parameters.values[: len(truth)]
    found = []
    for ours, real in zip(rows(robot, links, 7)[2:], rows(robot, truth, 7)[2:], strict=True):
        wrong = ours - real
        found.append(np.linalg.norm(wrong - wrong.mean(axis=0)) / np.linalg.norm(real - real.mean(axis=0)))
    return np.array(found)


def test_both_together_beat_either(robot: Robot, truth: np.ndarray) -> None:
    told = {}
    for sources in (("joints",), ("plate",), ("joints", "plate")):
        result = fit(robot, recorded(robot, truth, sources), "sdp", cutoff_hz=8.0, signals=KNOWN)
        told[sources] = misses(robot, result, truth)
        assert result.rank == len(result.base.names)
    both = told["joints", "plate"]
    assert both[0] < told["joints",][0]
    assert both[0] < told["plate",][0]
    assert both[1] < told["joints",][1]
    assert both[1] < told["plate",][1]


def test_the_plate_names_what_it_cannot_tell(robot: Robot) -> None:
    joints, plate, together = identifiability(robot, ("joints", "plate"))
    assert plate.source == "plate"
    assert (
        joints.rank < plate.rank <= together.rank
    )  # the first joint's axis is upright: torques miss its tilt
    assert "link1.m" in plate.blind  # weight along gravity is a constant, as the sensor's bias is
    assert "link1" in joints.blind or any(one.startswith("link1.") for one in joints.blind)


@pytest.mark.parametrize("sources", [("plate",), ("joints", "plate")])
def test_a_plate_turned_by_225_degrees_is_told(
    robot: Robot, truth: np.ndarray, sources: tuple[str, ...]
) -> None:
    data = recorded(robot, truth, sources)
    assert data.wrenches is not None
    angle = np.radians(225)
    turn = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    turned = Dataset.from_arrays(
        data.t,
        data.q,
        data.tau if data.has_torque else None,
        wrenches={"plate": data.wrenches @ np.kron(np.eye(2), turn).T},
    )
    result = fit(robot, turned, "wls", cutoff_hz=8.0, signals=KNOWN)
    found = {one.id: one.text for one in result.findings}
    said = re.search(r"plate is turned: .* by (\d+) degrees about z", found["wrench-turned"])
    assert said is not None
    assert abs(int(said.group(1)) - 225) <= 5
    assert result.verdict.grade == "unfit"
