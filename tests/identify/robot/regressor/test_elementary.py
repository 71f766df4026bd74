"""Compiled elementary functions against numpy's."""

import numpy as np
import pytest

from heft.identify.robot.regressor.elementary import cosine_sine, tanh_of_ratio


@pytest.mark.parametrize("scale", [1e-9, 1.0, 30.0, 1e5])
def test_cosine_and_sine_are_those_of_numpy(scale: float) -> None:
    angles = scale * np.random.default_rng(0).normal(size=(3, 1000))
    angles[0, :17] = np.pi / 4 * np.arange(-8, 9)
    cosine, sine = np.empty(angles.shape), np.empty(angles.shape)
    cosine_sine(angles, cosine, sine)
    assert np.abs(cosine - np.cos(angles)).max() < 3e-16
    assert np.abs(sine - np.sin(angles)).max() < 3e-16


@pytest.mark.parametrize("scale", [1e-9, 0.02, 1.0, 1e30, np.inf])
def test_tanh_is_that_of_numpy(scale: float) -> None:
    values = scale * np.random.default_rng(1).normal(size=(3, 1000))
    velocity, out = np.array([0.01, 0.02, 1.0]), np.empty(values.shape)
    tanh_of_ratio(values, velocity, out)
    assert np.abs(out - np.tanh(values / velocity[:, None])).max() < 3e-16


def test_what_is_not_a_number_stays_so_and_touches_no_other_memory() -> None:
    values = np.array([[np.nan, 0.3, -np.inf]])
    cosine, sine, tanh = np.empty((3, *values.shape))
    cosine_sine(values, cosine, sine)
    tanh_of_ratio(values, np.ones(1), tanh)
    np.testing.assert_array_equal(np.isnan([cosine, sine])[:, 0], [[True, False, True]] * 2)
    np.testing.assert_allclose(tanh, [[np.nan, np.tanh(0.3), -1.0]], atol=3e-16)
