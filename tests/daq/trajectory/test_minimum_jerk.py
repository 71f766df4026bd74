"""Minimum-jerk moves: exact ends, both bounds kept, no longer than needed, derivatives true."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heft.daq.trajectory import Trajectory, minimum_jerk

AXES = ("joint1", "joint2", "joint3")
RATE_HZ = 1000.0

angles = st.tuples(*[st.floats(-3.0, 3.0)] * 3)
bounds = st.tuples(*[st.floats(0.2, 5.0)] * 3)


@settings(deadline=None, derandomize=True)
@given(begin=angles, end=angles, velocity=bounds, acceleration=bounds)
def test_a_move_keeps_its_bounds_and_is_the_shortest(
    begin: tuple[float, ...],
    end: tuple[float, ...],
    velocity: tuple[float, ...],
    acceleration: tuple[float, ...],
) -> None:
    move = minimum_jerk(begin, end, velocity=velocity, acceleration=acceleration, rate_hz=RATE_HZ, axes=AXES)
    np.testing.assert_array_equal(move.position[0], begin)
    np.testing.assert_array_equal(move.position[-1], end)
    assert move.begins_at_rest
    assert move.ends_at_rest
    assert np.all(np.abs(move.velocity) <= np.array(velocity) * (1 + 1e-12))
    assert np.all(np.abs(move.acceleration) <= np.array(acceleration) * (1 + 1e-12))
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    assert np.all(move.position >= low - 1e-12)
    assert np.all(move.position <= high + 1e-12)
    # One sample less would break a bound: continuous peaks 15/8 D/T and 10/sqrt(3) D/T^2.
    distance = np.abs(np.subtract(end, begin))
    shorter = (len(move) - 2) / RATE_HZ
    if shorter > 0:
        too_fast = 15 / 8 * distance / shorter > np.array(velocity) * (1 - 1e-9)
        too_hard = 10 / np.sqrt(3) * distance / shorter**2 > np.array(acceleration) * (1 - 1e-9)
        assert np.any(too_fast | too_hard)


def test_derivatives_agree_with_finite_differences() -> None:
    move = minimum_jerk(
        (0.0, 1.0, -1.0),
        (1.0, 0.5, -1.0),
        velocity=(1.0,) * 3,
        acceleration=(4.0,) * 3,
        rate_hz=RATE_HZ,
        axes=AXES,
    )
    np.testing.assert_allclose(
        (move.position[2:] - move.position[:-2]) * RATE_HZ / 2, move.velocity[1:-1], atol=3e-5
    )
    np.testing.assert_allclose(
        (move.velocity[2:] - move.velocity[:-2]) * RATE_HZ / 2, move.acceleration[1:-1], atol=3e-4
    )
    jerk = np.diff(move.acceleration, axis=0) * RATE_HZ
    assert np.max(np.abs(jerk)) < 61.0 / move.duration_s**3  # largest jerk 60 D / T^3, at the ends


def test_axes_are_synchronised() -> None:
    move = minimum_jerk(
        (0.0, 0.0, 0.0),
        (1.0, 0.5, -2.0),
        velocity=(1.0,) * 3,
        acceleration=(9.0,) * 3,
        rate_hz=RATE_HZ,
        axes=AXES,
    )
    np.testing.assert_allclose(
        move.position / move.position[-1], move.position[:, :1] * [1, 1, 1], atol=1e-12
    )


def test_nowhere_to_go_is_one_sample() -> None:
    here = (0.1, 0.2, 0.3)
    move = minimum_jerk(here, here, velocity=(1.0,) * 3, acceleration=(1.0,) * 3, rate_hz=RATE_HZ, axes=AXES)
    assert isinstance(move, Trajectory)
    assert len(move) == 1
    assert move.duration_s == 0.0
    assert move.begins_at_rest


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"end has shape \(2,\)"):
        minimum_jerk((0, 0, 0), (1, 1), velocity=(1,) * 3, acceleration=(1,) * 3, rate_hz=RATE_HZ, axes=AXES)
    with pytest.raises(ValueError, match=r"velocity bound of joint2 is 0.0"):
        minimum_jerk(
            (0, 0, 0), (1, 1, 1), velocity=(1, 0, 1), acceleration=(1,) * 3, rate_hz=RATE_HZ, axes=AXES
        )
