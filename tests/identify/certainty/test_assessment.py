"""What a fit says about itself: autocorrelation, knocks, models that do not hold, noise of positions."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify import Dataset, Robot, fit
from heft.identify.certainty.position_noise import position_noise


@pytest.fixture(scope="module")
def arm() -> Robot:
    rows = [{"alpha": -np.pi / 2, "a": 0.0, "d": 0.0}, {"alpha": 0.0, "a": 0.4, "d": 0.1}]
    return Robot.from_dh(rows)


def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = np.random.default_rng(5).uniform(-0.8, 0.8, (2, 2, 4))
    w = 2 * np.pi / 5.0 * np.arange(1, 5)
    sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    return (
        sine @ (a / w).T - cosine @ (b / w).T,
        cosine @ a.T + sine @ b.T,
        cosine @ (b * w).T - sine @ (a * w).T,
    )


def data_of(arm: Robot, extra: np.ndarray | float = 0.0, noise: float = 0.1, seed: int = 0) -> Dataset:
    t = np.arange(20000) * 1e-3
    x = np.random.default_rng(7).uniform(0.2, 1.0, len(arm.parameter_names))
    tau = arm.torque(*motion(t), x) + extra
    tau += noise * np.random.default_rng(seed).standard_normal(tau.shape)
    return Dataset.from_arrays(t, motion(t)[0], tau)


def truth(arm: Robot) -> np.ndarray:
    return np.random.default_rng(7).uniform(0.2, 1.0, len(arm.parameter_names))


def test_noise_alone_is_not_doubted(arm: Robot) -> None:
    result = fit(arm, data_of(arm), "wls", cutoff_hz=8.0)
    assert not any("does not hold" in line or "do not belong" in line for line in result.warnings)


def test_coloured_noise_widens_intervals_until_they_hold(arm: Robot) -> None:
    inside, formal = [], []
    for seed in range(12):
        rng = np.random.default_rng(100 + seed)
        slow = np.zeros((20000, 2))
        for k in range(1, len(slow)):  # correlated over a second
            slow[k] = 0.999 * slow[k - 1] + 0.02 * rng.standard_normal(2)
        result = fit(arm, data_of(arm, slow, 0.02, seed), "wls", cutoff_hz=8.0)
        off = np.abs(result.base.values - result.base.matrix @ truth(arm))
        inside.append(off < 2.26 * result.base.std)
        formal.append(any("resemble" in line or "does not hold" in line for line in result.warnings))
    assert np.mean(inside) > 0.85
    assert all(formal)


def test_a_model_that_lacks_something_says_so_and_where(arm: Robot) -> None:
    t = np.arange(20000) * 1e-3
    velocity = motion(t)[1]
    stribeck = np.zeros((20000, 2))
    stribeck[:, 1] = 2.0 * np.exp(-((velocity[:, 1] / 0.15) ** 2)) * np.tanh(velocity[:, 1] / 0.02)
    result = fit(arm, data_of(arm, stribeck, 0.05), "wls", cutoff_hz=8.0, friction="file")
    line = next(line for line in result.warnings if "the model does not hold" in line)
    assert "joint2" in line
    assert "joint1" not in line
    assert "near standstill" in line


def test_a_knock_is_found_and_irls_gives_it_no_say(arm: Robot) -> None:
    knock = np.zeros((20000, 2))
    knock[9000:9300, 0] = 25.0
    data = data_of(arm, knock, 0.1)
    plain, robust = (fit(arm, data, method, cutoff_hz=8.0) for method in ("wls", "irls"))
    line = next(line for line in plain.warnings if "do not belong" in line)
    assert "joint1 from" in line
    assert "use irls" in line
    assert any("had no say" in line for line in robust.warnings)
    goal = plain.base.matrix @ truth(arm)
    assert np.linalg.norm(robust.base.values - goal) < 0.3 * np.linalg.norm(plain.base.values - goal)


def test_noise_of_positions_is_measured_and_allowed_for(arm: Robot) -> None:
    clean = data_of(arm)
    rough = 2e-4 * np.random.default_rng(1).standard_normal(clean.q.shape)
    noisy = Dataset.from_arrays(clean.t, clean.q + rough, clean.tau)
    assert position_noise(noisy) == pytest.approx(2e-4, rel=0.05)
    holes = np.random.default_rng(2).random(len(clean.t)) > 0.05
    lossy = Dataset.from_arrays(clean.t[holes], noisy.q[holes], clean.tau[holes])
    assert position_noise(lossy) == pytest.approx(2e-4, rel=0.1)
    result = fit(arm, noisy, "wls", cutoff_hz=25.0)
    assert any("noise of the positions biases" in line for line in result.warnings)
    off = np.abs(result.base.values - result.base.matrix @ truth(arm)) / result.base.std
    assert np.mean(off < 1.96) > 0.8


def test_predicted_torques_have_a_spread(arm: Robot) -> None:
    result = fit(arm, data_of(arm), "wls", cutoff_hz=8.0)
    prediction = result.predict(data_of(arm, seed=3))
    exact = np.concatenate([prediction.predicted - prediction.measured])
    assert prediction.std.shape == exact.shape
    assert (prediction.std > 0).all()
    assert prediction.std.max() < 0.05


def test_a_sentence(arm: Robot) -> None:
    result = fit(arm, data_of(arm), "wls", cutoff_hz=8.0)
    assert result.certainty.startswith("With 95 % confidence ")
    assert "viscous friction to +-" in result.certainty
    assert "torque lags by" in result.certainty
