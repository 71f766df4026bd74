"""Where the methods must agree, they do."""

from itertools import pairwise

import numpy as np
import pytest

from heft.identify.bodies.prior_spread import body_metric
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators import ESTIMATORS, estimate
from heft.identify.robot import PriorSpread


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
    pure = estimate(problem, "sdp", prior_weight=0).cost
    corrected = estimate(problem, "correct").cost
    assert least * (1 - 1e-9) <= pure <= corrected * (1 + 1e-6)
    # The prior costs a little, though less than the truth itself.
    truth = len(problem.base.names) / problem.information.rows.sum()
    assert pure * (1 - 1e-6) <= estimate(problem, "sdp").cost <= pure * (1 + truth)


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_manifold_fits_as_sdp(arm, share: float) -> None:
    problem = arm.problem(arm.noisy(share), prior=arm.truth)
    manifold = estimate(problem, "manifold")
    assert manifold.cost == pytest.approx(estimate(problem, "sdp").cost, rel=1e-5)


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
        estimate(
            arm.problem(noisy, prior=arm.truth, boxes=arm.boxes, level=level, weighting="none"),
            "sdp",
            prior_weight=0,
        ).cost
        for level in ("mass", "inertia", "full", "shape")
    ]
    assert all(low <= high * (1 + 1e-7) for low, high in pairwise(costs))
    assert costs[0] < costs[-1]


@pytest.mark.parametrize("weighting", ["none", "joint"])
def test_a_prior_that_is_twice_too_heavy_hardly_moves_what_the_data_determine(arm, weighting: str) -> None:
    noisy = arm.noisy(0.02)
    one = estimate(arm.problem(noisy, prior=arm.truth, weighting=weighting), "sdp")
    other = estimate(arm.problem(noisy, prior=2 * arm.truth, weighting=weighting), "sdp")
    deviation = np.sqrt(np.diag(one.covariance))
    assert np.abs((one.base - other.base) / deviation).max() < 1.0


@pytest.mark.slow
def test_links_are_as_near_to_the_truth_as_the_prior_and_the_data_together(arm) -> None:
    """Priors drawn about the truth with the spread that the problem is told: errors are of that size or below."""
    spread = PriorSpread(inertia=0.1)
    noisy = arm.noisy(0.05)
    rng = np.random.default_rng(3)
    sizes = arm.problem(noisy, prior=arm.truth).sizes
    errors, before = [], []
    for _ in range(8):
        prior = arm.truth.copy()
        for k, link in enumerate(arm.robot.links):
            block = slice(10 * k, 10 * k + 10)
            prior[block] += body_metric(arm.truth[block], spread.inertia, sizes[link]) @ rng.normal(size=10)
        problem = arm.problem(noisy, prior=prior, spread=spread)
        found = estimate(problem, "sdp")
        inverse = np.linalg.inv(problem.metric)
        errors.append(inverse @ (found.parameters - arm.truth))
        before.append(inverse @ (prior - arm.truth))
        assert problem.consistency(found.parameters).ok
    links = slice(0, 10 * len(arm.robot.links))
    after = np.mean(np.array(errors)[:, links] ** 2)
    assert after < 0.8 * np.mean(np.array(before)[:, links] ** 2)


def test_every_method_has_its_function_and_its_line() -> None:
    from importlib import import_module

    for name, estimator in ESTIMATORS.items():
        assert callable(getattr(import_module(f"heft.identify.estimation.estimators.{name}"), name))
        assert len(estimator.summary) < 80


def test_without_a_prior_the_answer_is_as_small_as_the_fit_allows(arm) -> None:
    """Least mass and second moments, m + tr(Sigma) / size^2 about the link's frame, of all that fit alike."""
    problem = arm.problem(arm.noisy(0.05))

    def bulk(found: Estimate) -> float:
        links = problem.links_of(found.parameters)
        return sum(
            ten[0] + ten[[4, 6, 9]].sum() / 2 / problem.sizes[link] ** 2 for link, ten in links.items()
        )

    compact, fittest = estimate(problem, "sdp"), estimate(problem, "manifold")
    assert bulk(compact) < bulk(fittest)
    assert bulk(compact) < bulk(estimate(problem, "correct"))
    assert fittest.cost - 1e-3 <= compact.cost <= fittest.cost + 1.01
    assert problem.consistency(compact.parameters, "full").ok
