"""The WAM of 003 on its identification trajectory: where the methods must agree, from raw positions and torques."""

from pathlib import Path

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit

CONFIGS = Path(__file__).parents[2] / "configs" / "robots"

# 003, Table 5: a (5), b (5) and q0 of each joint; Eq. 78 to 80, period 20 s.
TABLE_5 = np.array(
    [
        [0.05, -0.29, 0.48, 0.55, 0.65, 0.19, -0.40, -0.18, 0.63, -0.46, -0.29],
        [0.03, 0.29, -0.23, 0.32, 0.82, 0.09, -0.08, 0.05, -0.02, 0.65, 0.11],
        [-0.07, 0.40, 0.45, 0.40, -0.03, -0.49, 0.32, -0.26, -0.63, 0.06, -0.02],
        [0.14, -0.35, 0.15, 0.11, 0.93, -0.14, 0.06, -0.13, -0.14, -0.03, 1.67],
        [0.21, 0.35, 0.16, -0.02, 0.03, -0.51, 0.14, 0.37, -0.15, -0.17, -2.41],
        [-0.11, 0.28, 0.36, -0.06, 0.33, 0.13, 0.07, 0.67, -0.15, -0.22, 0.20],
        [-0.01, 0.24, 0.37, -0.45, 0.75, 0.24, 0.24, -0.22, -0.50, -0.52, 0.58],
    ]
)


def recorded(robot: Robot, noise: float = 0.0, seconds: float = 25.0, seed: int = 0) -> Dataset:
    """The trajectory at 500 Hz with torques of the robot's prior; noise as a share of each torque's deviation."""
    t = np.arange(0, seconds, 0.002)
    w = 0.1 * np.pi * np.arange(1, 6)
    sine, cosine = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    a, b, start = TABLE_5[:, :5].T, TABLE_5[:, 5:10].T, TABLE_5[:, 10]
    q = sine @ (a / w[:, None]) - cosine @ (b / w[:, None]) + start
    dq = cosine @ a + sine @ b
    ddq = (-sine * w) @ a + (cosine * w) @ b
    tau = robot.torque(q, dq, ddq, robot.prior)
    disturbed = tau + noise * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)
    return Dataset.from_arrays(t, q, disturbed)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(CONFIGS / "wam7.yaml")


def error(result: Result, robot: Robot) -> float:
    truth = result.base.matrix @ robot.prior
    return float(np.linalg.norm(result.base.values - truth) / np.linalg.norm(truth))


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [
        ("ols", 1e-6),
        ("wls", 1e-6),
        ("irls", 1e-6),
        ("closest", 1e-6),
        ("recursive", 1e-6),
        ("check", 1e-6),
        ("correct", 1e-6),
        ("sdp", 1e-4),
        ("manifold", 1e-4),
    ],
)
def test_without_noise_the_methods_agree(robot: Robot, method: str, tolerance: float) -> None:
    result = fit(robot, recorded(robot), method=method)
    assert result.rank == len(result.base.names) == 69
    assert error(result, robot) < tolerance


@pytest.mark.slow
def test_without_noise_and_with_another_prior(robot: Robot) -> None:
    """A prior that is 30 % too heavy does not move what the data determine."""
    for method in ("closest", "sdp", "manifold"):
        assert error(fit(robot, recorded(robot), method=method, prior=1.3 * robot.prior), robot) < 1e-4


@pytest.fixture(scope="module")
def noisy(robot: Robot) -> dict[str, Result]:
    data = recorded(robot, noise=0.05)
    return {method: fit(robot, data, method=method) for method in ("wls", "sdp", "manifold", "correct")}


def test_with_noise_the_costs_are_in_order(noisy: dict[str, Result]) -> None:
    cost = {
        name: float(result.weights @ (result.fit.rms**2 * result.fit.rows)) for name, result in noisy.items()
    }
    # The prior may cost half of what the truth itself does (strictly not with other weights: test_agreement).
    allowed = 0.5 * 69 / noisy["sdp"].fit.rows.sum()
    assert cost["wls"] * (1 - 1e-9) <= cost["sdp"] <= cost["correct"] * (1 + allowed)
    assert cost["manifold"] == pytest.approx(cost["sdp"], rel=0.01)


def test_with_noise_every_link_is_consistent_and_plausible(robot: Robot, noisy: dict[str, Result]) -> None:
    for method in ("sdp", "manifold", "correct"):
        assert noisy[method].consistency("full").ok
    assert not noisy["wls"].consistency("full").ok
    for link in noisy["sdp"].parameters.links:
        prior = robot.prior[10 * robot.links.index(link.name)]
        assert 0.5 * prior < link.mass < 2 * prior


def test_standard_deviations_hold(robot: Robot, noisy: dict[str, Result]) -> None:
    result = noisy["wls"]
    score = (result.base.values - result.base.matrix @ robot.prior) / result.base.std
    assert 0.7 < np.sqrt(np.mean(score**2)) < 1.3


def test_a_validation_that_was_not_seen(robot: Robot, noisy: dict[str, Result]) -> None:
    """Other noise on the second half of the motion: the same error."""
    other = recorded(robot, noise=0.05, seconds=15.0, seed=1)
    assert noisy["sdp"].relative_error(other).total == pytest.approx(noisy["sdp"].fit.total, rel=0.1)
