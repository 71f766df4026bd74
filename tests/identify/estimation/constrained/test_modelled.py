"""Constraints of one's own, and the problem stated a second time in cvxpy."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from heft.identify.bodies.parameters import Layout
from heft.identify.errors import ProblemError
from heft.identify.estimation.carried import Carried
from heft.identify.estimation.constrained.second_opinion import differing
from heft.identify.estimation.constrained.target import Target
from heft.identify.estimation.constraints.equalities import Equalities
from heft.identify.estimation.constraints.own import own_constraints
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.least_squares import weights_of
from heft.identify.estimation.problem import Bounds, Problem


@pytest.fixture(scope="module")
def poor(arm) -> Problem:
    """Noise of half the torque and a prior that is off: many bounds are active."""
    prior = arm.truth * np.repeat(np.random.default_rng(3).uniform(0.7, 1.3, 8), [10] * 4 + [4] * 4)
    bounds = Bounds(total_mass=(11.0, 14.0), mass={"link2": (0.0, 2.8)})
    return arm.problem(arm.noisy(0.5, 1), prior=prior, boxes=arm.boxes, bounds=bounds)


def demanding(problem: Problem, function) -> Problem:
    return replace(problem, own=own_constraints(Layout(problem.layout.names), function))


@pytest.mark.parametrize("level", ["mass", "inertia", "full", "shape"])
def test_a_second_opinion_agrees(poor: Problem, level: str) -> None:
    found = estimate(replace(poor, level=level), "sdp", second_opinion=True)
    assert found.facts["second_opinion_deviation"] < 1e-4
    assert found.facts["second_opinion_cost"] < 1e-7
    assert not any("second opinion" in line for line in found.warnings)


def test_a_second_opinion_agrees_without_a_prior_and_with_the_divergence(poor: Problem) -> None:
    for problem, options in ((replace(poor, prior=None), {}), (poor, {"prior": "logdet"})):
        found = estimate(problem, "sdp", second_opinion=True, **options)
        assert found.facts["second_opinion_deviation"] < 3e-4


@pytest.mark.parametrize("level", ["inertia", "full"])
def test_a_second_opinion_agrees_about_a_hand(poor: Problem, level: str) -> None:
    """A hand that is heavier than its link may be: the limit is active."""
    ten = poor.prior[poor.layout.link("link4")]
    carried = Carried("link4", 0.9 * ten, np.diag(50 / poor.scales[poor.layout.link("link4")]), 0.6 * ten)
    found = estimate(replace(poor, level=level, carried=carried), "sdp", second_opinion=True)
    assert found.facts["second_opinion_deviation"] < 1e-4


def test_opinions_that_differ_are_told() -> None:
    assert differing({}) == ()
    assert "differs" in differing({"second_opinion_deviation": 0.01, "second_opinion_cost": 0.1})[0]


def test_linear_equalities_hold_exactly_and_at_the_optimum(poor: Problem) -> None:
    """The direct path with a target that has them inside, against cvxpy with a variable of its own in the way."""

    def equal(p):
        return [p.total_mass == 12.3, p.link["link3"].vector == p.link["link4"].vector]

    def roundabout(p):
        free = cp.Variable(10)
        return [
            p.total_mass + cp.Variable(nonneg=True) == 12.3,
            p.total_mass >= 12.3,
            p.link["link3"].vector == free,
            p.link["link4"].vector == free,
        ]

    one, other = (estimate(demanding(poor, function), "sdp").parameters for function in (equal, roundabout))
    links = poor.links_of(one)
    assert sum(ten[0] for ten in links.values()) == pytest.approx(12.3, rel=1e-10)
    np.testing.assert_allclose(links["link3"], links["link4"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one, other, atol=1e-5 * np.max(np.abs(one)))
    assert poor.consistency(one).ok


def test_pinned_link_and_equal_friction(poor: Problem) -> None:
    ten = poor.prior[poor.layout.link("link2")] * 0.9
    problem = demanding(
        poor,
        lambda p: [p.link["link2"].vector == ten, p.joint["joint1"].viscous == 2 * p.joint["joint2"].viscous],
    )
    found = estimate(problem, "sdp", second_opinion=True)
    np.testing.assert_allclose(poor.links_of(found.parameters)["link2"], ten, rtol=1e-9)
    viscous = [found.parameters[poor.layout.index(f"joint{k}.viscous")] for k in (1, 2)]
    assert viscous[0] == pytest.approx(2 * viscous[1], rel=1e-9)
    assert found.facts["second_opinion_deviation"] < 1e-4


def test_inequalities_cones_and_penalties(poor: Problem) -> None:
    free = poor.links_of(estimate(poor, "sdp").parameters)["link3"]
    centre = np.mean(poor.boxes["link3"], axis=0)

    def within(p):
        link = p.link["link3"]
        return [
            cp.norm(link.first_moment - link.mass * centre)
            <= 0.002 * link.mass,  # within 2 mm of the box's centre
            link.inertia << 0.8 * np.eye(3),
            link.pseudo_inertia >> 1e-5 * np.eye(4),
        ]

    near = poor.links_of(estimate(demanding(poor, within), "sdp").parameters)["link3"]
    assert np.linalg.norm(free[1:4] / free[0] - centre) > 0.003
    assert np.linalg.norm(near[1:4] / near[0] - centre) <= 0.002 + 1e-6

    def light(p):
        return 1e4 * cp.square(p.link["link3"].mass - 0.5 * free[0])

    lighter = poor.links_of(estimate(demanding(poor, light), "sdp").parameters)["link3"]
    assert lighter[0] == pytest.approx(0.5 * free[0], rel=0.02)


def test_a_weighed_total_with_a_deviation_is_a_compromise(poor: Problem) -> None:
    row = np.zeros((1, len(poor.layout)))
    row[0, [poor.layout.link(link).start for link in poor.layout.links]] = 1.0

    def total(std: float) -> float:
        scale = Equalities(row, np.array([11.5]), np.array([std]), ("scale",))
        return float((row @ estimate(replace(poor, declared=scale), "sdp").parameters)[0])

    free = float((row @ estimate(poor, "sdp").parameters)[0])
    assert total(0.0) == pytest.approx(11.5, abs=1e-9)
    assert abs(total(1e-4) - 11.5) < abs(total(0.3) - 11.5) < abs(free - 11.5)


def test_the_target_is_that_of_data_without_noise(poor: Problem) -> None:
    """Conditioning on an equality is the limit of more and more certain data."""
    target = Target.of(poor, weights_of(poor), 1.0)
    row = np.random.default_rng(0).normal(size=(2, len(poor.layout))) / poor.scales
    values = row @ target.best + 0.1
    exact, nearly = (
        target.given(Equalities(row, values, np.full(2, std), ("a", "b")), poor.scales) for std in (0.0, 1e-7)
    )
    np.testing.assert_allclose(exact.best, nearly.best, rtol=1e-5, atol=1e-7)
    one, other = (each.spread @ each.spread.T for each in (exact, nearly))
    np.testing.assert_allclose(one, other, atol=1e-5 * np.abs(one).max())
    np.testing.assert_allclose(row @ exact.spread, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (
            lambda p: p.total_mass == 50,
            "total_mass == 50.0: this leaves no robot at level full within the bounds",
        ),
        (
            lambda p: [p.total_mass == 12, p.link["link1"].mass >= 30],
            "constraints: 30.0 <= link1.mass: this leaves",
        ),
        (
            lambda p: [p.link["link1"].mass == 10, p.link["link3"].mass >= 10],
            "10.0 <= link3.mass: each has a solution, together they leave",
        ),
        (lambda p: p.link["link1"].inertia == -np.eye(3), r"link1.inertia == .*: this leaves"),
        (lambda p: [p.total_mass == 12, p.total_mass == 13], "contradict each other: total_mass == 12"),
    ],
)
def test_constraints_that_leave_nothing_are_named(poor: Problem, function, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        estimate(demanding(poor, function), "sdp")


def test_other_methods_refuse_or_say_so(arm, poor: Problem) -> None:
    with pytest.raises(ProblemError, match="wls takes no constraints of one's own; use sdp"):
        estimate(demanding(poor, lambda p: p.total_mass == 12), "wls")
    row = np.eye(len(poor.layout))[:1]
    known = replace(poor, declared=Equalities(row, np.array([5.0]), np.zeros(1), ("link1.m == 5",)))
    assert (
        "wls does not heed the constraints of the robot's file: link1.m == 5"
        in estimate(known, "wls").warnings[-1]
    )


def test_there_is_no_second_opinion_on_what_only_cvxpy_can_state(poor: Problem) -> None:
    found = estimate(demanding(poor, lambda p: p.total_mass <= 13.0), "sdp", second_opinion=True)
    assert "second_opinion_deviation" not in found.facts
    assert any(line.startswith("no second opinion") for line in found.warnings)
