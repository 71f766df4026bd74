"""The torques' delay comes out of the data, with its sign and its interval."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify import Dataset, Robot, Signals, fit
from heft.identify.data import Processing, filtered_rows
from heft.identify.information.reduction import reduce

STEP = 1e-3


@pytest.fixture(scope="module")
def arm() -> Robot:
    rows = [
        {"alpha": -np.pi / 2, "a": 0.0, "d": 0.0},
        {"alpha": 0.0, "a": 0.4, "d": 0.1},
        {"alpha": np.pi / 2, "a": 0.1, "d": 0.0},
    ]
    return Robot.from_dh(rows)


def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = np.random.default_rng(5).uniform(-0.8, 0.8, (2, 3, 4))
    w = 2 * np.pi / 5.0 * np.arange(1, 5)
    sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    return (
        sine @ (a / w).T - cosine @ (b / w).T,
        cosine @ a.T + sine @ b.T,
        cosine @ (b * w).T - sine @ (a * w).T,
    )


def truth(arm: Robot) -> np.ndarray:
    return np.random.default_rng(7).uniform(0.2, 1.0, len(arm.parameter_names))


def delayed(arm: Robot, delay_s: float, noise: float = 0.0, seed: int = 0, count: int = 15000) -> Dataset:
    """Torques stamped t show what was at t - delay."""
    t = np.arange(count) * STEP
    tau = arm.torque(*motion(t - delay_s), truth(arm))
    tau += noise * np.random.default_rng(seed).standard_normal(tau.shape)
    return Dataset.from_arrays(t, motion(t)[0], tau)


@pytest.mark.parametrize("delay_s", [0.0, 0.0013, -0.0005, 0.0247, -0.04])
def test_any_delay_with_its_sign(arm: Robot, delay_s: float) -> None:
    result = fit(arm, delayed(arm, delay_s), "wls", cutoff_hz=8.0)
    found = result.delays["torque"]
    assert found.estimated
    assert found.against == "position"
    assert found.value_s == pytest.approx(delay_s, abs=2e-6)
    assert np.allclose(result.base.values, result.base.matrix @ truth(arm), atol=2e-3)


@pytest.mark.parametrize("delay_s", [0.06, -0.1])
def test_a_delay_beyond_what_steps_of_the_alignment_reach_is_begun_from(arm: Robot, delay_s: float) -> None:
    for cutoff_hz in (None, 20.0):  # steps end 18 ms away at 20 Hz
        result = fit(arm, delayed(arm, delay_s, 0.02), "wls", cutoff_hz=cutoff_hz)
        assert result.tradeoff is not None
        assert result.tradeoff.delays_s == pytest.approx([delay_s], abs=0.02)
        assert result.delays["torque"].value_s == pytest.approx(delay_s, abs=2e-4)
        assert result.fit.total < 0.02


@pytest.mark.slow
def test_intervals_of_the_delay_and_of_parameters_that_depend_on_it(arm: Robot) -> None:
    off, inside = [], []
    for seed in range(30):
        result = fit(arm, delayed(arm, 0.002, 0.3, seed, 8000), "wls", cutoff_hz=8.0)
        delay = result.delays["torque"]
        off.append((delay.value_s - 0.002) / delay.std_s)
        inside.append(np.abs(result.base.values - result.base.matrix @ truth(arm)) < 1.96 * result.base.std)
    assert 0.7 < np.sqrt(np.mean(np.square(off))) < 1.3
    assert 0.91 < np.mean(inside) < 0.99


def test_a_given_delay_is_taken_out_and_not_estimated(arm: Robot) -> None:
    data = delayed(arm, 0.03)
    result = fit(arm, data, "wls", cutoff_hz=8.0, signals=Signals(delay_s=0.03))
    assert not result.delays["torque"].estimated
    assert result.delays["torque"].std_s == 0.0
    assert np.allclose(result.base.values, result.base.matrix @ truth(arm), atol=2e-3)
    ignored = fit(arm, data, "wls", cutoff_hz=8.0, signals=Signals(delay_s=0.0))
    assert ignored.fit.total > 10 * result.fit.total


def test_other_data_are_aligned_alike(arm: Robot) -> None:
    result = fit(arm, delayed(arm, 0.005), "wls", cutoff_hz=8.0)
    assert result.relative_error(delayed(arm, 0.005, count=9000)).total < 1e-4
    prediction = result.predict(delayed(arm, 0.005, count=9000))
    assert np.abs(prediction.residual).max() < 1e-2


def test_rows_with_a_delay_are_rows_of_aligned_data(arm: Robot) -> None:
    processing = Processing(8.0)
    late = list(filtered_rows(arm, delayed(arm, 0.0123), processing, delay_s=0.0123))
    plain = list(filtered_rows(arm, delayed(arm, 0.0), processing))
    by_time = {
        round(float(t), 6): row for block in plain for t, row in zip(block.time, block.torque, strict=True)
    }
    for block in late:
        for t, row in zip(block.time, block.torque, strict=True):
            if round(float(t), 6) in by_time:
                assert np.allclose(row, by_time[round(float(t), 6)], atol=1e-3)


def test_reduced_data_can_be_aligned_afterwards(arm: Robot) -> None:
    processing, data = Processing(8.0), delayed(arm, 0.001)
    before = reduce(arm, data, processing).aligned(0.001)
    after = reduce(arm, data, processing, delay_s=0.001)
    square = [np.einsum("jka,jkb->jab", one.factors, one.factors) for one in (before, after)]
    assert np.allclose(square[0], square[1], rtol=2e-3, atol=2e-2)


def test_a_delay_that_moves_is_said(arm: Robot) -> None:
    t = np.arange(20000) * STEP
    when = t - np.where(t < 10.0, 0.001, 0.004)
    tau = arm.torque(*motion(when), truth(arm))
    tau += 0.02 * np.random.default_rng(0).standard_normal(tau.shape)
    result = fit(arm, Dataset.from_arrays(t, motion(t)[0], tau), "wls", cutoff_hz=8.0)
    assert any("delay of torque moves during the session" in line for line in result.warnings)
    steady = fit(arm, delayed(arm, 0.004, 0.02, count=20000), "wls", cutoff_hz=8.0)
    assert not any("moves" in line for line in steady.warnings)


def test_absurd_delays_are_not_believed(arm: Robot) -> None:
    result = fit(arm, delayed(arm, 0.6, 0.5), "wls", cutoff_hz=8.0)
    delay = result.delays["torque"]
    assert not delay.estimated or abs(delay.value_s) <= 0.25
