"""Sampling between ticks."""

from __future__ import annotations

import numpy as np
import pytest

from heft.drivers.plant.history import CAPACITY, History


def filled(ticks: int = 2000, period: float = 0.001) -> History:
    """q = sin(5 t), torque k in the k-th interval."""
    history = History(1, 1, period, np.zeros(1))
    for k in range(ticks):
        t = (k + 1) * period
        history.append(
            np.array([float(k)]), np.full(3, float(k)), k // 1000, np.sin([5 * t]), 5 * np.cos([5 * t])
        )
    return history


def test_states_between_ticks() -> None:
    t = np.random.default_rng(0).uniform(0.01, 1.99, 200)
    state = filled().state(t)
    np.testing.assert_allclose(state.q[:, 0], np.sin(5 * t), atol=1e-11)
    np.testing.assert_allclose(state.v[:, 0], 5 * np.cos(5 * t), atol=1e-8)


def test_mean_torque_is_exact_over_any_window() -> None:
    history = filled()
    end = np.array([0.1000, 0.1005, 0.1003])
    mean = history.mean_torque(end - np.array([0.001, 0.001, 0.0023]), end)
    np.testing.assert_allclose(mean[:, 0], [99.0, 99.5, (0.3 * 100 + 99 + 98) / 2.3], rtol=1e-9)


def test_what_is_in_force_from_a_tick_on() -> None:
    history = filled()
    np.testing.assert_array_equal(
        history.reference(np.array([0.5, 0.5004, 0.5009999]))[:, 0], [500, 500, 500]
    )
    np.testing.assert_array_equal(history.loads(np.array([0.5, 1.5])), [0, 1])


def test_before_the_start_nothing_moved() -> None:
    history = filled()
    assert history.state(np.array([-0.5])).q[0, 0] == 0.0
    assert history.mean_torque(np.array([-0.5]), np.array([-0.1]))[0, 0] == 0.0


def test_the_ring_forgets_and_says_so() -> None:
    history = filled(CAPACITY + 100)
    t = (CAPACITY - 500.5) * 0.001
    np.testing.assert_allclose(history.state(np.array([t])).q[0, 0], np.sin(5 * t), atol=1e-9)
    with pytest.raises(LookupError, match="older than the 16"):
        history.state(np.array([0.05]))
