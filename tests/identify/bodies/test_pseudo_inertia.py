"""The ten numbers and their matrices, against Pinocchio's."""

import numpy as np
import pinocchio as pin
import pytest

from heft.identify.bodies import (
    from_mass_com_inertia,
    from_pseudo_inertia,
    inertia_about_com,
    inertia_about_frame,
    pseudo_inertia,
    second_moment_about_com,
    spatial_inertia,
)
from heft.identify.errors import ParameterError


@pytest.fixture
def body() -> pin.Inertia:
    pin.seed(4)
    return pin.Inertia.Random()


def test_order_is_pinocchios(body: pin.Inertia) -> None:
    ten = from_mass_com_inertia(body.mass, body.lever, body.inertia)
    np.testing.assert_allclose(ten, body.toDynamicParameters(), rtol=1e-12)


def test_pseudo_inertia_is_pinocchios_and_comes_back(body: pin.Inertia) -> None:
    ten = body.toDynamicParameters()
    np.testing.assert_allclose(pseudo_inertia(ten), body.toPseudoInertia().toMatrix(), rtol=1e-12)
    np.testing.assert_allclose(from_pseudo_inertia(pseudo_inertia(ten)), ten, rtol=1e-12)


def test_spatial_inertia_is_pinocchios_with_moments_first(body: pin.Inertia) -> None:
    order = [3, 4, 5, 0, 1, 2]
    expected = body.matrix()[np.ix_(order, order)]
    np.testing.assert_allclose(spatial_inertia(body.toDynamicParameters()), expected, atol=1e-12)


def test_inertias_about_frame_and_centre(body: pin.Inertia) -> None:
    ten = body.toDynamicParameters()
    np.testing.assert_allclose(inertia_about_com(ten), body.inertia, atol=1e-12)
    np.testing.assert_allclose(inertia_about_frame(ten), body.matrix()[3:, 3:], atol=1e-12)


def test_second_moments_of_point_masses() -> None:
    points = np.random.default_rng(1).normal(size=(20, 3))
    ten = sum(from_mass_com_inertia(0.5, point, np.zeros((3, 3))) for point in points)
    centred = points - points.mean(axis=0)
    np.testing.assert_allclose(second_moment_about_com(ten), 0.5 * centred.T @ centred, atol=1e-12)


def test_a_body_without_mass_has_no_centre() -> None:
    assert np.isnan(inertia_about_com(np.zeros(10))).all()


def test_ten_numbers_are_ten() -> None:
    with pytest.raises(ParameterError, match=r"shape \(9,\) instead of ten numbers"):
        pseudo_inertia(np.zeros(9))
