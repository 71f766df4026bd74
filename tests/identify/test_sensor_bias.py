"""What a robot's file knows of the bias of a six-axis sensor: the weight of an arm on a force plate follows from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit
from heft.identify.fit import Signals
from heft.identify.robot.wrench_sensor import WrenchSensor

ARM = Path(__file__).parents[2] / "configs" / "robots" / "wam7_on_plate.yaml"
OFFSET = np.array([0.2, -0.3, 0.25, 0.02, -0.03, 0.01])  # [N, N m]
STATED = (0.3, 0.03)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(ARM).with_terms(("offset",))


@pytest.fixture(scope="module")
def truth(robot: Robot) -> np.ndarray:
    assert robot.prior is not None
    links = robot.prior[: 10 * len(robot.links)].copy()
    links[:10] *= 1.15  # the first link alone: its weight is a constant, as the bias is
    return links


def known(robot: Robot, bias: tuple[float, float] | None) -> Robot:
    sensors: dict[str, WrenchSensor] = {name: replace(one, bias=bias) for name, one in robot.sensors.items()}
    return replace(robot, sensors=sensors)


def recorded(robot: Robot, truth: np.ndarray, offset: np.ndarray = OFFSET, seed: int = 1) -> Dataset:
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 20.0, 0.005)
    q, dq, ddq = np.zeros((3, len(t), 7))
    for k in range(1, 6):
        turn, part = 2 * np.pi * 0.1 * k, 0.35 * rng.normal(size=7)
        phase = turn * t[:, None] + rng.uniform(0, 6, 7)
        q += part * np.sin(phase)
        dq += part * turn * np.cos(phase)
        ddq -= part * turn**2 * np.sin(phase)
    plate = robot.measuring(("plate",))
    parameters = np.zeros(len(plate.parameter_names))
    parameters[: len(truth)] = truth
    wrench = plate.regressor.torque(q, dq, ddq, parameters)[:, -6:]
    noise = rng.normal(size=wrench.shape) * np.array([0.5] * 3 + [0.1] * 3)
    return Dataset.from_arrays(t, q, wrenches={"plate": wrench + offset + noise})


def identified(robot: Robot, data: Dataset | list[Dataset], method: str = "sdp", **options: str) -> Result:
    return fit(robot, data, method, cutoff_hz=8.0, signals=Signals(delay_s=0.0), **options)  # type: ignore[arg-type]


def test_the_weight_is_known_as_well_as_the_bias(robot: Robot, truth: np.ndarray) -> None:
    data = recorded(robot, truth)
    told = [identified(known(robot, bias), data) for bias in (None, STATED)]
    blind, seen = (one.intervals["total_mass"] for one in told)
    total = truth.reshape(-1, 10)[:, 0].sum()
    assert blind.std > 5 * seen.std
    assert seen.std < 1.2 * STATED[0] / 9.81
    assert abs(seen.value - total) < 3 * seen.std
    offset = told[1].intervals["plate.fz.offset"]
    assert abs(offset.value - OFFSET[2]) < 3 * offset.std < 3.3 * STATED[0]
    assert not [line for line in told[1].warnings if "bias of plate" in line]


def test_without_a_prior_of_the_links_it_holds_too(robot: Robot, truth: np.ndarray) -> None:
    result = identified(known(robot, STATED), recorded(robot, truth), prior="none")
    total = truth.reshape(-1, 10)[:, 0].sum()
    assert sum(link.mass for link in result.parameters.links) == pytest.approx(total, abs=0.1)


def test_of_several_recordings(robot: Robot, truth: np.ndarray) -> None:
    data = [recorded(robot, truth, scale * OFFSET, seed) for scale, seed in ((1.0, 1), (-1.0, 2))]
    mass = identified(known(robot, STATED), data).intervals["total_mass"]
    assert abs(mass.value - truth.reshape(-1, 10)[:, 0].sum()) < 3 * mass.std < 0.12


def test_a_bias_that_is_larger_is_told(robot: Robot, truth: np.ndarray) -> None:
    """Sideways forces tell it, whatever the links weigh."""
    result = identified(known(robot, STATED), recorded(robot, truth, OFFSET + 5.0))
    assert [
        line for line in result.warnings if "bias of plate == 0 +- 0.3 N: data and prior contradict" in line
    ]


def test_methods_that_do_not_heed_it_say_so(robot: Robot, truth: np.ndarray) -> None:
    result = identified(known(robot, STATED), recorded(robot, truth), "manifold")
    assert [line for line in result.warnings if "does not heed" in line and "bias of plate" in line]
