"""Data and prior together: always a robot that could exist, and as sure as it may be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heft.identify import Robot, base_parameters
from heft.identify.bodies.consistency import consistency_of_links
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.robot_chart import Chart, LinkChart
from heft.identify.certainty.posterior import posterior
from heft.identify.robot import PriorSpread

WAM = Path(__file__).parents[3] / "configs" / "robots" / "wam7.yaml"
SPREAD = PriorSpread(0.05, 0.1, 0.2)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(WAM)


@pytest.fixture(scope="module")
def chart(robot: Robot) -> Chart:
    layout = Layout(robot.parameter_names)
    found = Chart.about(layout, robot.prior, robot.prior, np.abs(robot.prior) + 1.0, SPREAD)
    assert found is not None
    return found


def test_the_chart_begins_at_the_prior_and_knows_its_slope(robot: Robot, chart: Chart) -> None:
    x = np.zeros(len(robot.prior))
    assert np.allclose(chart.at(x)[0], robot.prior)
    x = np.random.default_rng(0).standard_normal(len(x))
    values, slope = chart.at(x)
    for k in range(0, len(x), 7):
        step = np.zeros(len(x))
        step[k] = 1e-6
        numeric = (chart.at(x + step)[0] - chart.at(x - step)[0]) / 2e-6
        assert np.allclose(slope[:, k], numeric, rtol=1e-5, atol=1e-7)
    assert np.isfinite(values).all()


def test_every_point_could_exist(robot: Robot, chart: Chart) -> None:
    rng = np.random.default_rng(1)
    layout = chart.layout
    for _ in range(20):
        values, _ = chart.at(3 * rng.standard_normal(len(layout)))
        links = {link: values[layout.link(link)] for link in layout.links}
        assert consistency_of_links(links, "full", {}, dict.fromkeys(links, 0.1)).ok


def test_an_impossible_body_has_no_chart() -> None:
    assert LinkChart.about(np.array([1.0, 0, 0, 0, -1.0, 0, 1.0, 0, 0, 1.0]), 0.1) is None


def test_truth_drawn_from_the_prior_is_covered(robot: Robot, chart: Chart) -> None:
    base, rng = base_parameters(robot), np.random.default_rng(2)
    K = base.matrix
    std = 1e-3 * (np.abs(K @ robot.prior) + 0.05)
    inside, dominated = [], []
    for _ in range(8):
        true, _ = chart.at(rng.standard_normal(len(robot.prior)))
        measured = K @ true + std * rng.standard_normal(len(std))
        found = posterior(chart, K, measured, np.diag(std**2))
        assert found.strain == pytest.approx(1.0, abs=0.6)
        for name, interval in found.intervals(np.inf, found.parameters).items():
            owner, _, term = name.partition(".")
            if term == "mass":
                goal = true[chart.layout.index(f"{owner}.m")]
                inside.append(interval.low <= goal <= interval.high)
                dominated.append((owner, interval.prior_dominated))
            elif owner.startswith("joint"):
                inside.append(interval.low <= true[chart.layout.index(name)] <= interval.high)
    assert 0.9 <= np.mean(inside) <= 1.0
    assert ("link1", True) in dominated  # nothing weighs the base link
    assert any(not rests for _, rests in dominated)


def test_without_data_the_prior_remains(robot: Robot, chart: Chart) -> None:
    K = base_parameters(robot).matrix
    found = posterior(chart, K, K @ robot.prior, np.diag(np.full(len(K), np.inf)))
    assert np.allclose(found.parameters, robot.prior)
    intervals = found.intervals(np.inf, found.parameters)
    assert all(interval.prior_dominated for interval in intervals.values())
    assert intervals["link2.mass"].std == pytest.approx(2 * 0.05 * robot.prior[10], rel=0.05)
