"""A user's function: what it may return, what becomes of it, and how mistakes read."""

import cvxpy as cp
import numpy as np
import pytest

from heft.identify.bodies import inertia_about_frame, pseudo_inertia
from heft.identify.bodies.parameters import Layout, parameter_names
from heft.identify.errors import ParameterError, ProblemError
from heft.identify.estimation.constraints.own import OwnConstraints, own_constraints

TERMS = ("viscous", "offset")
LAYOUT = Layout(parameter_names(("link1", "link2"), {"joint1": TERMS, "joint2": TERMS}))


def own(function) -> OwnConstraints:
    return own_constraints(LAYOUT, function)


def test_every_quantity_is_the_parameters_own() -> None:
    """Equalities with zero are rows: applied to a vector, they give the quantity."""
    d = np.random.default_rng(0).normal(size=len(LAYOUT))
    ten = d[LAYOUT.link("link2")]
    expected = {
        "mass": (lambda p: p.link["link2"].mass, ten[0]),
        "first": (lambda p: p.link["link2"].first_moment, ten[1:4]),
        "com": (lambda p: p.link["link2"].com_times_mass, ten[1:4]),
        "inertia": (lambda p: p.link["link2"].inertia, inertia_about_frame(ten)),
        "pseudo": (lambda p: p.link["link2"].pseudo_inertia, pseudo_inertia(ten)),
        "ten": (lambda p: p.link["link2"].vector, ten),
        "viscous": (lambda p: p.joint["joint2"].viscous, d[LAYOUT.index("joint2.viscous")]),
        "total": (lambda p: p.total_mass, d[0] + d[10]),
        "all": (lambda p: p.vector, d),
        "mixed": (lambda p: p.link["link1"].mass - 2 * p.link["link2"].inertia[0, 1], d[0] - 2 * ten[5]),
    }
    for name, (quantity, value) in expected.items():
        found = own(lambda p, quantity=quantity: quantity(p) == 0).equalities
        np.testing.assert_allclose(found.rows @ d - found.values, np.ravel(value), atol=1e-12, err_msg=name)


def test_sorted_and_named() -> None:
    def function(p):
        return [
            p.total_mass == 18.2,
            {
                "heavier": p.link["link1"].mass >= p.link["link2"].mass,
                "small": cp.norm1(p.joint["joint1"].offset),
            },
            (p.link["link1"].mass <= 3, p.link["link1"].mass <= 3),
            p.link["link2"].com_on_line([0, 0, 0], [1, 0, 0]),
            None,
        ]

    found = own(function)
    assert found.equalities.distinct == ("total_mass == 18.2", "link2.com on its line")
    assert tuple(found.constraints) == ("heavier", "link1.mass <= 3.0", "link1.mass <= 3.0 (2)")
    assert tuple(found.penalties) == ("small",)
    assert not found.linear
    assert own(lambda p: p.total_mass == 18.2).linear


def test_an_equality_with_a_variable_of_ones_own_is_left_to_cvxpy() -> None:
    s = cp.Variable()
    found = own(lambda p: p.link["link1"].first_moment == s * np.array([0.0, 0.0, 1.0]))
    assert not len(found.equalities)
    assert len(found.constraints) == 1


@pytest.mark.parametrize(
    ("function", "error", "said"),
    [
        (lambda p: p.link["hand"].mass == 1, ParameterError, "no 'hand' among link1, link2"),
        (
            lambda p: p.joint["joint1"].stiction == 1,
            ParameterError,
            "no term 'stiction'; it has viscous, offset",
        ),
        (lambda p: 1.0 < 2.0, ProblemError, "returned True"),
        (lambda p: cp.sqrt(p.total_mass) <= 1, ProblemError, "not convex as it is written"),
        (lambda p: cp.sqrt(p.total_mass), ProblemError, "must be one convex number; it is CONCAVE"),
        (lambda p: p.link["link1"].first_moment, ProblemError, "must be one convex number"),
        (lambda p: p.link["link1"].com_on_line([0, 0, 0], [0, 0, 0]), ParameterError, "without direction"),
    ],
)
def test_mistakes(function, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        own(function)
