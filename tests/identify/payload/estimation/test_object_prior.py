"""What is known of an object before it is weighed."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.errors import ProblemError
from heft.identify.payload import ObjectPrior


def test_a_box_and_a_ball() -> None:
    box = ObjectPrior(dimensions=(0.1, 0.2, 0.3), rotation=np.eye(3))
    np.testing.assert_allclose(box.gyration(1.0), np.diag([0.01, 0.04, 0.09]) / 12)
    turned = ObjectPrior(dimensions=(0.1, 0.2, 0.3), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(turned.gyration(1.0), np.diag([0.04, 0.01, 0.09]) / 12, atol=1e-15)
    anyhow = ObjectPrior(dimensions=(0.1, 0.2, 0.3))
    np.testing.assert_allclose(np.trace(anyhow.gyration(1.0)), 0.14 / 12)
    ball = ObjectPrior(density=1000.0)
    radius = (3 * 0.5 / 1000 / (4 * np.pi)) ** (1 / 3)
    np.testing.assert_allclose(ball.gyration(0.5), np.eye(3) * radius**2 / 5)


def test_mass_is_known_from_dimensions_and_density_together() -> None:
    mean, spread = ObjectPrior(dimensions=(0.1, 0.1, 0.1), density=700.0).log_mass
    assert np.exp(mean) == pytest.approx(0.7)
    assert spread == 0.5
    assert ObjectPrior(density=700.0).log_mass[1] > 2
    scale = ObjectPrior(dimensions=(0.1, 0.1, 0.1), density=700.0).scale(0.7, 1e-3)
    assert scale.given == ("mass", "inertia")
    assert ObjectPrior().scale(1.0, 1e-3).given == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dimensions": (0.1, 0.0, 0.1)}, "dimensions 0"),
        ({"dimensions": (0.1, 0.1)}, "dimensions"),
        ({"density": -1.0}, "density -1"),
        ({"com": (0, 0, 0)}, "come together"),
        ({"com": (0, 0, np.nan), "com_std": 0.1}, "com"),
        ({"density": 1.0, "shape_spread": 0.0}, "shape_spread"),
    ],
)
def test_what_is_wrong_is_said(arguments, message) -> None:
    with pytest.raises(ProblemError, match=message):
        ObjectPrior(**arguments)


def test_a_density_alone_is_no_shape() -> None:
    dense, box = ObjectPrior(density=7850.0), ObjectPrior(dimensions=(0.1, 0.1, 0.1), density=7850.0)
    assert dense.scale(1.0, 1e-3).given == ()
    assert dense.weight < box.weight
    assert box.without_shape.dimensions is None
