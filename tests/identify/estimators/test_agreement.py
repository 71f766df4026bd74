"""Where the methods must agree, they do."""

import numpy as np
import pytest

from identify.estimators import METHODS, estimate
from identify.estimators.answer import Estimate


def error(found: Estimate, base: np.ndarray) -> float:
    return float(np.linalg.norm(found.base - base) / np.linalg.norm(base))


@pytest.mark.parametrize("prior", ["truth", "wrong", "none"])
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
        ("essential", 1e-6),
        ("sdp", 1e-4),
        ("manifold", 1e-4),
        ("masspoint", 1e-4),
    ],
)
def test_without_noise_every_method_finds_the_truth(arm, method: str, tolerance: float, prior: str) -> None:
    priors = {"truth": arm.truth, "wrong": 1.4 * arm.truth, "none": None}
    found = estimate(arm.problem(prior=priors[prior], boxes=arm.boxes), method)
    assert error(found, arm.base) < tolerance


def test_ridge_comes_to_the_truth_as_its_weight_goes(arm) -> None:
    problem = arm.problem()
    errors = [error(estimate(problem, "ridge", weight=weight), arm.base) for weight in (1.0, 1e-3, 1e-6)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-6


@pytest.mark.parametrize("share", [0.02, 0.3])
@pytest.mark.parametrize("weighting", ["joint", "none"])
@pytest.mark.parametrize("level", ["inertia", "full", "shape"])
def test_sdp_fits_no_better_than_least_squares_and_no_worse_than_correct(
    arm, share: float, weighting: str, level: str
) -> None:
    problem = arm.problem(
        arm.noisy(share), prior=arm.truth, boxes=arm.boxes, weighting=weighting, level=level
    )
    least = estimate(problem, "wls" if weighting == "joint" else "ols").cost
    sdp = estimate(problem, "sdp").cost
    corrected = estimate(problem, "correct").cost
    assert least * (1 - 1e-9) <= sdp <= corrected * (1 + 1e-6)


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_manifold_fits_as_sdp(arm, share: float) -> None:
    problem = arm.problem(arm.noisy(share), prior=arm.truth)
    manifold = estimate(problem, "manifold")
    assert manifold.cost == pytest.approx(estimate(problem, "sdp").cost, rel=1e-2)
    alike = estimate(problem, "sdp", prior_weight=manifold.facts["prior_weight"])
    assert manifold.cost == pytest.approx(alike.cost, rel=1e-5)


@pytest.mark.parametrize("method", ["sdp", "manifold", "masspoint", "correct"])
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_consistent_methods_are_consistent_and_have_their_signs(arm, method: str, share: float) -> None:
    problem = arm.problem(arm.noisy(share), prior=arm.truth, boxes=arm.boxes)
    found = estimate(problem, method)
    assert problem.consistency(found.parameters, "full").ok
    assert found.parameters[list(problem.layout.non_negative)].min() > -1e-9


def test_higher_levels_cost_more(arm) -> None:
    noisy = arm.noisy(0.3)
    costs = [
        estimate(arm.problem(noisy, prior=arm.truth, boxes=arm.boxes, level=level), "sdp").cost
        for level in ("mass", "inertia", "full", "shape")
    ]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_the_prior_does_not_move_what_the_data_determine(arm) -> None:
    noisy = arm.noisy(0.02)
    one = estimate(arm.problem(noisy, prior=arm.truth), "sdp")
    other = estimate(arm.problem(noisy, prior=2 * arm.truth), "sdp")
    deviation = np.sqrt(np.diag(one.covariance))
    assert np.abs((one.base - other.base) / deviation).max() < 0.02


def test_every_method_has_its_function_and_its_line() -> None:
    from importlib import import_module

    for name, line in METHODS.items():
        assert callable(getattr(import_module(f"identify.estimators.{name}"), name))
        assert len(line) < 80
