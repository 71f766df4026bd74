"""Levels of consistency, margins and culprits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.identify.bodies import MassDistribution, from_mass_com_inertia
from heft.identify.bodies.consistency import LEVELS, consistency, consistency_of_links, half_diagonal
from heft.identify.errors import ParameterError, ProblemError

BOX = ((-0.2, -0.2, -0.2), (0.2, 0.2, 0.2))
BALL = from_mass_com_inertia(2.0, [0.05, 0.0, 0.0], 0.01 * np.eye(3))


@pytest.mark.parametrize("level", LEVELS)
def test_a_ball_is_consistent_at_every_level(level: str) -> None:
    found = consistency(BALL, level, box=BOX)  # type: ignore[arg-type]
    assert found.ok
    assert bool(found)
    assert found.margin > 0
    assert found.culprit is None


@pytest.mark.parametrize(
    ("mass", "com", "moments", "highest_level", "culprit"),
    [
        (-1.0, (0, 0, 0), (1, 1, 1), None, "mass"),
        (1.0, (0, 0, 0), (-1, 1, 1), "mass", "inertia"),
        (1.0, (0, 0, 0), (1, 1, 3), "inertia", "triangle"),
        (1.0, (0, 0, 0), (1, 1, 1), "full", "shape"),
        (1.0, (0.3, 0, 0), (1e-4, 1e-4, 1e-4), "full", "shape"),
    ],
)
def test_the_highest_level_and_the_culprit_beyond(
    mass: float, com: tuple[float, ...], moments: tuple[float, ...], highest_level: str | None, culprit: str
) -> None:
    ten = from_mass_com_inertia(mass, com, np.diag(np.array(moments, dtype=float)))
    reached = [level for level in LEVELS if consistency(ten, level, box=BOX).ok]
    assert (reached[-1] if reached else None) == highest_level
    beyond = LEVELS[len(reached)]
    found = consistency(ten, beyond, box=BOX)
    assert found.margin <= 0
    assert found.culprit == culprit


@given(st.lists(st.floats(-2, 2), min_size=10, max_size=10), st.floats(0.1, 10))
def test_margins_do_not_depend_on_units(free: list[float], factor: float) -> None:
    """Heavier and larger by any factor: the same margin."""
    ten = MassDistribution(1.0, np.zeros(3), np.eye(3), np.ones(3)).log_step(np.array(free)).ten
    scaled = ten * np.array([1] + [factor] * 3 + [factor**2] * 6) * 7.0
    one, other = consistency(ten).margin, consistency(scaled).margin
    assert one == pytest.approx(other, rel=1e-4, abs=1e-7)


def test_the_margin_is_the_thinnest_radius_of_gyration_over_the_size() -> None:
    rod = from_mass_com_inertia(
        3.0, [0, 0, 0.1], 3.0 * np.diag([0.01**2 + 0.2**2, 0.01**2 + 0.2**2, 2 * 0.01**2])
    )
    assert consistency(rod, size=0.2).margin == pytest.approx((0.01 / 0.2) ** 2)
    assert consistency(rod).margin == pytest.approx((0.01 / 0.2) ** 2)


def test_the_weakest_link_decides() -> None:
    flat = from_mass_com_inertia(1.0, [0, 0, 0], np.diag([1.0, 1.0, 2.1]))
    found = consistency_of_links({"arm": BALL, "hand": flat}, "full", {}, {})
    assert not found.ok
    assert found.culprit == "hand"
    assert found.margin == found.margins["hand"] < 0 < found.margins["arm"]


def test_level_shape_needs_boxes() -> None:
    with pytest.raises(ProblemError, match="bounding box"):
        consistency(BALL, "shape")
    with pytest.raises(ProblemError, match="hand has none"):
        consistency_of_links({"arm": BALL, "hand": BALL}, "shape", {"arm": BOX}, {})


@pytest.mark.parametrize("ten", [np.zeros(9), np.full(10, np.nan)])
def test_numbers_that_are_no_body(ten: np.ndarray) -> None:
    with pytest.raises(ParameterError):
        consistency(ten)


def test_an_unknown_level() -> None:
    with pytest.raises(ParameterError, match="mass, inertia, full, shape"):
        consistency(BALL, "complete")  # type: ignore[arg-type]


def test_half_diagonal() -> None:
    assert half_diagonal(((0, 0, 0), (2, 0, 0))) == 1.0
