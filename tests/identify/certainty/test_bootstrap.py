"""The block bootstrap: the estimator replicated, alike for any number of workers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from heft.identify import Dataset, Robot, fit
from heft.identify.certainty import bootstrap as module
from heft.identify.certainty.bootstrap import Bootstrap
from heft.identify.errors import SolverError
from heft.identify.estimation.alignment.torque_delay import settled
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.information.reduction import Information, reduce

ROWS = [{"alpha": -np.pi / 2, "a": 0.0, "d": 0.1}, {"alpha": 0.0, "a": 0.4, "d": 0.0}]
LINK = [2.0, 0.2, 0.1, 0.1, 0.10, 0.0, 0.12, 0.0, 0.0, 0.15]
DELAY_S = 0.002


@pytest.fixture(scope="module")
def robot() -> Robot:
    prior = np.array([*LINK, *LINK, 0.1, 0.8, 0.6, 0.1, 0.1, 0.8, 0.6, 0.1])
    return replace(Robot.from_dh(ROWS), prior=prior)


@pytest.fixture(scope="module")
def data(robot: Robot) -> Dataset:
    rng, t = np.random.default_rng(0), np.arange(20000) * 1e-3
    a, b = rng.uniform(-0.6, 0.6, (2, 3, 2))
    w = 2 * np.pi / 4 * np.arange(1, 4)

    def motion(t: np.ndarray) -> tuple[np.ndarray, ...]:
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        return s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b

    tau = robot.torque(*motion(t - DELAY_S), 1.1 * robot.prior) + 0.1 * rng.standard_normal((len(t), 2))
    return Dataset.from_arrays(t, motion(t)[0], tau)


def ratios(facts) -> dict[str, float]:  # type: ignore[no-untyped-def]
    return {name: value for name, value in facts.items() if name.startswith("bootstrap")}


def test_it_agrees_with_the_formula_for_least_squares(robot: Robot, data: Dataset) -> None:
    found = fit(robot, data, "wls", cutoff_hz=8.0, bootstrap=Bootstrap(100))
    assert found.provenance.configuration["bootstrap"] == 100
    assert found.facts["bootstrap_failed"] == 0
    for name in ("base_parameters", "friction", "delay"):
        assert found.facts[f"bootstrap_ratio_{name}"] == pytest.approx(1.0, abs=0.3), name
    plain = fit(robot, data, "wls", cutoff_hz=8.0)
    assert not ratios(plain.facts)
    assert "bootstrap" not in plain.provenance.configuration
    np.testing.assert_array_equal(plain.parameters.values, found.parameters.values)


@pytest.mark.parametrize("method", ["sdp", "irls"])
def test_workers_share_and_change_nothing(robot: Robot, data: Dataset, method: str) -> None:
    shares: list[float] = []
    one, three = (
        fit(robot, data, method, cutoff_hz=8.0, bootstrap=Bootstrap(12, workers, progress=shares.append))
        for workers in (1, 3)
    )
    assert ratios(one.facts) == ratios(three.facts)
    assert shares == [k / 12 for k in range(1, 13)] * 2
    assert 0.3 < one.facts["bootstrap_ratio_friction"] < 1.6


def test_replicates_that_fail_are_counted_and_too_many_are_said(
    robot: Robot, data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = module.estimate, iter(range(1000))

    def sometimes(*arguments, **options):  # type: ignore[no-untyped-def]
        if next(calls) % 2:
            raise SolverError("no")
        return real(*arguments, **options)

    monkeypatch.setattr(module, "estimate", sometimes)
    found = fit(robot, data, "wls", cutoff_hz=8.0, bootstrap=Bootstrap(10, workers=1))
    assert found.facts["bootstrap_failed"] == 5
    assert "bootstrap_ratio_friction" not in found.facts
    assert any("5 of 10 replicates failed" in line for line in found.warnings)


def test_parts_together_are_the_whole(robot: Robot, data: Dataset) -> None:
    source = FitData.of(robot, [data], fit(robot, data, "wls", cutoff_hz=8.0).processing)
    parts = source.parts(7)
    (whole,), again = source.reduced(), Information.resampled(parts, np.ones(7, dtype=np.int64))
    assert again.rows.tolist() == whole.rows.tolist()
    for one, other in zip(whole.factors, again.factors, strict=True):
        np.testing.assert_allclose(other.T @ other, one.T @ one, rtol=1e-9, atol=1e-9)
    twice = np.array([2, 0, 1, 1, 0, 3, 0])
    drawn = Information.resampled(parts, twice)
    rows = source.reweight(
        lambda index, age, residual: np.ones_like(residual), np.zeros(len(whole.names)), twice
    )
    for one, other in zip(drawn.factors, rows.factors, strict=True):
        np.testing.assert_allclose(other.T @ other, one.T @ one, rtol=1e-9, atol=1e-9)


def test_the_delay_left_in_a_problem_is_found(robot: Robot, data: Dataset) -> None:
    processing = fit(robot, data, "wls", cutoff_hz=8.0).processing
    problem, delay_s = settled(Problem.of(robot, reduce(robot, data, processing)), 0.03 / 8)
    assert delay_s == pytest.approx(DELAY_S, abs=2e-4)
    assert settled(problem, 0.03 / 8)[1] == pytest.approx(0.0, abs=1e-6)
