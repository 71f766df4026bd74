"""The feasible set: bounds, priors, levels, and a second opinion from another modelling layer."""

import cvxpy
import numpy as np
import pytest

from heft.identify.bodies.pseudo_inertia import PSEUDO_BASIS
from heft.identify.errors import ProblemError, SolverError
from heft.identify.estimation.constrained.feasible_set import DEFAULT_MARGIN, broken_bounds
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.estimators.check import check_base
from heft.identify.estimation.problem import Bounds


def total_mass(problem, found) -> float:
    return float(sum(found.parameters[problem.layout.link(link)][0] for link in problem.layout.links))


def test_sdp_is_what_cvxpy_makes_of_it(arm) -> None:
    problem = arm.problem(arm.noisy(0.3), prior=arm.truth)
    found = estimate(problem, "sdp", prior_weight=0.1)
    target = Target.of(problem, found.weights, 0.1)
    d = cvxpy.Variable(len(problem.layout))
    constraints = [d[list(problem.layout.non_negative)] >= 0]
    for link in problem.layout.links:
        ten = d[problem.layout.link(link)]
        size, mass = problem.sizes[link], problem.masses[link]
        unit = np.diag([1 / size] * 3 + [1.0]) / np.sqrt(mass)
        scaled = unit @ PSEUDO_BASIS @ unit
        J = sum(ten[i] * scaled[i] for i in range(10))
        thick = DEFAULT_MARGIN.relative / mass * np.diag([1.0, 1, 1, 0])
        constraints += [J - ten[0] * thick >> 0, ten[0] >= 1e-3 * mass]
    distance = cvxpy.sum_squares(np.linalg.inv(target.spread) @ (d - target.best))
    cvxpy.Problem(cvxpy.Minimize(distance), constraints).solve(solver=cvxpy.CLARABEL)
    whiten = np.linalg.inv(target.spread)
    ours = np.sum((whiten @ (found.parameters - target.best)) ** 2)
    assert ours == pytest.approx(distance.value, rel=1e-4)
    np.testing.assert_allclose(found.base, problem.base.matrix @ d.value, atol=1e-3)


def test_bounds_hold(arm) -> None:
    bounds = Bounds(mass={"link4": (0.5, 0.9)}, total_mass=(11.0, 12.0))
    problem = arm.problem(arm.noisy(0.05), prior=2 * arm.truth, boxes=arm.boxes, bounds=bounds)
    found = estimate(problem, "sdp")
    assert 11.0 - 1e-6 <= total_mass(problem, found) <= 12.0 + 1e-6
    for link, ten in problem.links_of(found.parameters).items():
        com = ten[1:4] / ten[0]
        assert (com > arm.boxes[link][0] - 1e-6).all()
        assert (com < arm.boxes[link][1] + 1e-6).all()
    assert 0.5 - 1e-6 <= found.parameters[problem.layout.index("link4.m")] <= 0.9 + 1e-6


def test_bounds_that_exclude_each_other(arm) -> None:
    bounds = Bounds(mass=dict.fromkeys(arm.robot.links, (0.1, 1.0)), total_mass=(100.0, 120.0))
    with pytest.raises(ProblemError, match=r"total mass 100 to 120 kg.*loosen the one that is wrong"):
        estimate(arm.problem(bounds=bounds), "sdp")


def test_bounds_the_wrong_way_round() -> None:
    with pytest.raises(ProblemError, match=r"total mass: bounds 20 to 10 kg"):
        Bounds(total_mass=(20, 10))


def test_bounds_for_a_link_that_is_not_there(arm) -> None:
    with pytest.raises(ValueError, match="no link link9"):
        arm.problem(bounds=Bounds(mass={"link9": (0, 1)}))


@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(total_mass=(1.0, 2.0)),
        Bounds(total_mass=(30.0, np.inf)),
        Bounds(mass={"link2": (0.0, 0.5), "link3": (4.0, 6.0)}),
    ],
    ids=["light", "heavy", "links"],
)
def test_manifold_keeps_bounds_and_fits_as_sdp(arm, bounds: Bounds) -> None:
    problem = arm.problem(arm.noisy(0.05), prior=2 * arm.truth, boxes=arm.boxes, bounds=bounds)
    found, other = estimate(problem, "manifold"), estimate(problem, "sdp")
    assert not found.warnings
    assert problem.consistency(found.parameters).ok
    assert not broken_bounds(problem, found.parameters)
    target = Target.of(problem, found.weights)
    far, least = (
        float(np.sum(np.linalg.solve(target.spread, one.parameters - target.best) ** 2))
        for one in (found, other)
    )
    assert far == pytest.approx(least, rel=1e-3, abs=1e-2)


def test_manifold_with_a_budget_has_a_consistent_answer_after_every_step(arm) -> None:
    bounds = Bounds(total_mass=(1.0, 2.0))
    problem = arm.problem(arm.noisy(0.05), prior=2 * arm.truth, boxes=arm.boxes, bounds=bounds)
    needed = int(estimate(problem, "manifold").facts["iterations"])
    for steps in (1, 2, 5, needed - 1):
        found = estimate(problem, "manifold", most_steps=steps)
        assert found.facts["iterations"] == steps
        assert problem.consistency(found.parameters).ok
        assert not broken_bounds(problem, found.parameters)
        assert any(f"budget of {steps} steps" in line for line in found.warnings)
    with pytest.raises(ProblemError, match="most_steps is 0, must be at least 1"):
        estimate(problem, "manifold", most_steps=0)


def test_manifold_asks_for_room_between_bounds(arm) -> None:
    narrow = arm.problem(prior=arm.truth, bounds=Bounds(total_mass=(5.0, 5.0)))
    with pytest.raises(ProblemError, match="room between bounds, and the total mass is between 5 and 5 kg"):
        estimate(narrow, "manifold")
    torn = Bounds(total_mass=(1.0, 2.0), mass={"link2": (3.0, 4.0)})
    with pytest.raises(ProblemError, match="bounds contradict each other"):
        estimate(arm.problem(prior=arm.truth, bounds=torn), "manifold")


def test_the_log_det_prior_keeps_links_thick(arm) -> None:
    problem = arm.problem(arm.noisy(0.05), prior=1.2 * arm.truth)
    euclidean, logdet = estimate(problem, "sdp", prior_weight=1e-6), estimate(problem, "sdp", prior="logdet")
    assert logdet.cost == pytest.approx(euclidean.cost, rel=1e-3)
    margins = [problem.consistency(found.parameters).margin for found in (euclidean, logdet)]
    assert margins[1] > margins[0]


def test_the_log_det_prior_is_invariant(arm) -> None:
    """Minimum of tr(J0^-1 J) - log det J is J0 itself: with exact data the prior's null space part stays."""
    problem = arm.problem(prior=arm.truth)
    found = estimate(problem, "sdp", prior="logdet")
    np.testing.assert_allclose(found.parameters[:40], arm.truth[:40], atol=2e-3)


@pytest.mark.parametrize("prior", ["none", "impossible"])
def test_the_log_det_prior_needs_a_possible_one(arm, prior: str) -> None:
    impossible = arm.truth.copy()
    impossible[arm.robot.parameter_names.index("link2.zz")] *= 10
    problem = arm.problem(prior=None if prior == "none" else impossible)
    with pytest.raises(ProblemError, match="log-det prior needs a prior"):
        estimate(problem, "sdp", prior="logdet")


def test_an_inconsistent_prior_is_said_and_corrected(arm) -> None:
    impossible = arm.truth.copy()
    impossible[arm.robot.parameter_names.index("link2.zz")] *= 10
    problem = arm.problem(prior=impossible)
    found = estimate(problem, "sdp")
    assert any("link2" in line and "correct it" in line for line in found.warnings)
    assert problem.consistency(found.parameters).ok
    assert np.linalg.norm(found.base - arm.base) < 1e-4 * np.linalg.norm(arm.base)


def test_a_prior_that_is_no_number(arm) -> None:
    with pytest.raises(ProblemError, match=r"link1\.mx is not a finite number"):
        arm.problem(prior=np.where(np.arange(len(arm.truth)) == 1, np.nan, arm.truth))


def test_no_prior_is_said(arm) -> None:
    assert any("no prior" in line for line in estimate(arm.problem(), "sdp").warnings)


def test_check_says_yes_and_shows_such_parameters(arm) -> None:
    problem = arm.problem(prior=1.3 * arm.truth)
    found = check_base(problem, arm.base)
    assert found.ok
    assert problem.consistency(found.parameters).ok
    np.testing.assert_allclose(problem.base.matrix @ found.parameters, arm.base, rtol=1e-6, atol=1e-8)


def test_check_says_no_and_how_far(arm) -> None:
    problem = arm.problem(arm.noisy(0.3), prior=arm.truth)
    found, corrected = estimate(problem, "check"), estimate(problem, "correct")
    assert found.feasible is False
    assert corrected.feasible is False
    assert found.facts["distance"] == pytest.approx(corrected.facts["distance"], rel=1e-6)
    np.testing.assert_allclose(found.base, estimate(problem, "wls").base, rtol=1e-9)


def test_base_vectors_have_their_length(arm) -> None:
    with pytest.raises(ValueError, match="one value for each of"):
        check_base(arm.problem(), np.zeros(3))


def test_a_solver_that_stops_short_is_an_error(arm, monkeypatch: pytest.MonkeyPatch) -> None:
    import clarabel

    settings = clarabel.DefaultSettings

    def impatient() -> object:
        made = settings()
        made.max_iter = 3
        return made

    monkeypatch.setattr(clarabel, "DefaultSettings", impatient)
    with pytest.raises(SolverError, match="status MaxIterations after 3 iterations, must be Solved"):
        estimate(arm.problem(arm.noisy(0.1)), "sdp")


def test_level_shape_without_boxes(arm) -> None:
    with pytest.raises(ProblemError, match="level shape asks for bounding boxes"):
        arm.problem(level="shape")
    with pytest.raises(ProblemError, match="masspoint puts points into bounding boxes"):
        estimate(arm.problem(), "masspoint")
    with pytest.raises(ProblemError, match="manifold knows no boxes"):
        estimate(arm.problem(level="shape", boxes=arm.boxes), "manifold")


def test_data_of_another_robot(arm) -> None:
    from dataclasses import replace

    problem = arm.problem()
    with pytest.raises(ValueError, match="another robot"):
        replace(problem, information=replace(problem.information, names=problem.layout.names[::-1]))
