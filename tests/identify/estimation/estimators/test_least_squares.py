"""Least squares in its forms: weights, outliers, priors, essential parameters, forgetting."""

import numpy as np
import pytest

from heft.identify.errors import ProblemError
from heft.identify.estimation.estimators import estimate
from heft.identify.information.reduction import Information


def test_ols_is_least_squares_on_the_stacked_rows(arm) -> None:
    noisy = arm.noisy(0.1)
    problem = arm.problem(noisy)
    columns = list(problem.base.independent)
    W = arm.regressor[:, :, columns].reshape(-1, len(columns))
    direct, squares, *_ = np.linalg.lstsq(W, noisy.reshape(-1))
    found = estimate(problem, "ols")
    np.testing.assert_allclose(found.base, direct, rtol=1e-6, atol=1e-8)
    assert found.cost == pytest.approx(float(squares[0]), rel=1e-9)
    variance = squares[0] / (len(W) - len(columns))
    np.testing.assert_allclose(found.covariance, variance * np.linalg.inv(W.T @ W), rtol=1e-5, atol=1e-10)


def test_weights_are_those_of_the_joints_noise(arm) -> None:
    noise = np.array([0.5, 0.05, 0.2, 0.01])
    noisy = arm.torque + noise * np.random.default_rng(3).normal(size=arm.torque.shape)
    found = estimate(arm.problem(noisy), "wls")
    np.testing.assert_allclose(found.weights**-0.5, noise, rtol=0.15)


@pytest.mark.slow
def test_standard_deviations_hold(arm) -> None:
    """002, Eq. 9 to 12, by repetition: normalised errors have mean square one."""
    scores = []
    for seed in range(30):
        found = estimate(arm.problem(arm.noisy(0.05, seed)), "wls")
        scores.append((found.base - arm.base) / np.sqrt(np.diag(found.covariance)))
    assert np.mean(np.square(scores)) == pytest.approx(1.0, abs=0.12)


def test_outliers_lose_their_say(arm) -> None:
    noisy = arm.noisy(0.01)
    rng = np.random.default_rng(5)
    hit = rng.random(noisy.shape) < 0.05
    spoiled = noisy + hit * 20.0 * noisy.std(axis=0)
    plain = estimate(arm.problem(spoiled), "wls").base
    robust = estimate(arm.problem(spoiled), "irls")
    assert np.linalg.norm(robust.base - arm.base) < 0.02 * np.linalg.norm(plain - arm.base)
    assert robust.facts["share_left_out"] == pytest.approx(0.05, abs=0.02)


def test_irls_needs_the_samples(arm) -> None:
    from dataclasses import replace

    with pytest.raises(ProblemError, match="call fit"):
        estimate(replace(arm.problem(), reweight=None), "irls")


def test_essential_parameters_are_fewer_and_fit_nearly_as_well(arm) -> None:
    problem = arm.problem(arm.noisy(0.05), prior=arm.truth)
    every, few = estimate(problem, "wls"), estimate(problem, "essential")
    assert 5 < len(few.essential) < len(every.base)
    assert every.cost <= few.cost < 1.1 * every.cost
    changed = np.flatnonzero(few.parameters != arm.truth)
    assert {problem.layout.names[i] for i in changed} <= {name.split(" ")[0] for name in few.essential}


def test_no_essential_parameter_at_all(arm) -> None:
    with pytest.raises(ProblemError, match="raise most_deviation"):
        estimate(arm.problem(arm.noisy(0.3)), "essential", most_deviation=1e-9)


def updated(
    factor: np.ndarray,
    regressor: np.ndarray,
    torque: np.ndarray,
    weights: np.ndarray,
    forgetting: float = 1.0,
) -> np.ndarray:
    """The recursion itself: the triangle (p + 1, p + 1) after samples (B, n, p), (B, n) with weights (n,) more."""
    count = len(torque)
    root = np.sqrt(forgetting ** np.arange(count - 1, -1, -1.0)[:, None] * weights)
    rows = np.concatenate([regressor, torque[:, :, None]], axis=2) * root[:, :, None]
    stacked = np.vstack([forgetting ** (count / 2) * factor, rows.reshape(-1, factor.shape[1])])
    return np.linalg.qr(stacked, mode="r")


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
def test_recursion_and_batch_agree(arm, forgetting: float) -> None:
    noisy = arm.noisy(0.1)
    problem = arm.problem(noisy)
    memory_s = np.inf if forgetting == 1.0 else -arm.step_s / np.log(forgetting)
    batch = estimate(problem, "recursive", memory_s=memory_s)
    factor = np.zeros((len(problem.layout) + 1,) * 2)
    for start in range(0, len(noisy), 37):
        block = slice(start, start + 37)
        factor = updated(factor, arm.regressor[block], noisy[block], batch.weights, forgetting)
    columns = list(problem.base.independent)
    base, *_ = np.linalg.lstsq(factor[:-1, columns], factor[:-1, -1])
    np.testing.assert_allclose(base, batch.base, rtol=1e-5, atol=1e-7)


def test_forgetting_follows_a_change(arm) -> None:
    """The last joint's offset changes half way: with forgetting the later value is found."""
    changed = arm.torque.copy()
    changed[: len(changed) // 2, -1] += 1.0
    names = arm.robot.parameter_names
    where = names.index("joint4.offset")
    weights = np.ones(4)
    true = arm.truth[where]
    late = estimate(arm.problem(changed, weighting=weights), "recursive", memory_s=0.5).parameters[where]
    whole = estimate(arm.problem(changed, weighting=weights), "recursive").parameters[where]
    assert abs(late - true) < 0.02
    assert abs(whole - true) > 0.2


def test_the_recursive_estimate_is_feasible_at_every_step(arm) -> None:
    noisy = arm.noisy(0.3)
    factor = np.zeros((len(arm.truth) + 1,) * 2)
    for start in range(0, len(noisy), 100):
        block = slice(start, start + 100)
        factor = updated(factor, arm.regressor[block], noisy[block], np.ones(4))
        seen = Information(factor[None], np.array([block.stop]), arm.robot.parameter_names)
        problem = arm.problem(information=seen, prior=arm.truth, weighting=np.ones(1))
        assert not problem.consistency(estimate(problem, "recursive").parameters).ok
        assert problem.consistency(estimate(problem, "recursive", feasible=True).parameters).ok


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("recursive", {"memory_s": -1.0}, "memory_s -1 s must be above 0"),
        ("ridge", {"weight": 0.0}, "must be above 0"),
        ("essential", {"most_deviation": 0.0}, "must be above 0"),
        ("masspoint", {"per_axis": 2}, "at least 3"),
        ("sdp", {"wieght": 1.0}, "sdp has no option 'wieght'; it has prior, margin, prior_weight"),
        ("magic", {}, "no method 'magic'; there are ols"),
    ],
)
def test_options_that_make_no_sense(arm, method: str, options: dict, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        estimate(arm.problem(boxes=arm.boxes), method, **options)


def test_an_axis_that_never_moves_is_said(arm) -> None:
    """Joint 4 stands still: what only it can show is infinite and named, and the rest is found."""
    from heft.identify.estimation.problem import Problem

    still = arm.robot
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.uniform(-1, 1, (3, 300, 4))
    q[:, 3], dq[:, 3], ddq[:, 3] = 0.3, 0.0, 0.0
    Y = still.regressor.dense(q, dq, ddq)
    tau = Y @ arm.truth
    rows = np.concatenate([Y, tau[:, :, None]], axis=2)
    information = type(arm.reduced(arm.torque))(
        np.stack([np.linalg.qr(rows[:, j], mode="r") for j in range(4)]),
        np.full(4, 300),
        still.parameter_names,
    )
    problem = arm.problem(information=information, prior=arm.truth)
    assert isinstance(problem, Problem)
    for method in ("ols", "wls", "sdp", "manifold"):
        found = estimate(problem, method)
        assert found.rank < len(found.base)
        assert np.isinf(np.diag(found.covariance)).any()
        assert any("joint4.viscous" in line and "Move these axes more" in line for line in found.warnings)
        np.testing.assert_allclose(found.base, arm.base, rtol=1e-3, atol=1e-4)
