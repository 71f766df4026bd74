"""Series at rest: every coefficient vector begins and ends without velocity and acceleration."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.errors import ProblemError
from heft.identify.excitation.fourier_basis import FourierBasis


@pytest.mark.parametrize("harmonics", [2, 5, 9])
def test_every_series_rests_at_its_ends_and_matches_the_played_one(harmonics: int) -> None:
    basis = FourierBasis(harmonics, 7.0)
    z = np.random.default_rng(0).standard_normal((3, basis.size))
    series = basis.series(z)
    _, velocity, acceleration = series.at(np.array([0.0, 7.0]))
    assert np.abs(velocity).max() < 1e-12
    assert np.abs(acceleration).max() < 1e-12
    t = np.linspace(0.0, 7.0, 50)
    for played, linear in zip(series.at(t), basis.at(t), strict=True):
        np.testing.assert_allclose(played, linear @ z.T, atol=1e-12)
    np.testing.assert_allclose(basis.coefficients(series), z, atol=1e-12)


def test_velocity_and_acceleration_are_derivatives() -> None:
    basis, h = FourierBasis(4, 3.0), 1e-6
    t = np.linspace(0.1, 2.9, 20)
    (before, speed_before, _), (after, speed_after, _) = basis.at(t - h), basis.at(t + h)
    _, velocity, acceleration = basis.at(t)
    np.testing.assert_allclose((after - before) / (2 * h), velocity, atol=1e-7)
    np.testing.assert_allclose((speed_after - speed_before) / (2 * h), acceleration, atol=1e-7)


def test_one_harmonic_cannot_begin_at_rest_and_move() -> None:
    with pytest.raises(ProblemError, match="1 harmonics, must be 2 or more"):
        FourierBasis(1, 5.0)
