"""The controlled stop."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heft.drivers.playback.stop_ramp import StopRamp

speeds = st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3)


@settings(deadline=None, max_examples=40)
@given(velocity=speeds)
def test_it_is_smooth_limited_and_ends_at_rest(velocity: list[float]) -> None:
    q0, v0, limit = np.array([0.1, -0.2, 0.3]), np.array(velocity), np.array([10.0, 12.0, 15.0])
    ramp = StopRamp.stopping(q0, v0, limit)
    t = np.linspace(0.0, ramp.duration_s, 2001)
    q, v, a = (np.array(x) for x in zip(*(ramp.at(x) for x in t), strict=True))
    np.testing.assert_allclose(q[0], q0)
    np.testing.assert_allclose(v[0], v0)
    np.testing.assert_allclose(a[[0, -1]], 0.0, atol=1e-9)
    np.testing.assert_allclose(v[-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(q[-1], ramp.end, atol=1e-12)
    assert (np.abs(a) <= limit + 1e-9).all()
    step = t[1] - t[0]
    np.testing.assert_allclose(np.diff(q, axis=0) / step, 0.5 * (v[1:] + v[:-1]), atol=1e-5)
    np.testing.assert_allclose(np.diff(v, axis=0) / step, 0.5 * (a[1:] + a[:-1]), atol=1e-3)


def test_the_slowest_axis_sets_the_time() -> None:
    ramp = StopRamp.stopping(np.zeros(2), np.array([2.0, 0.1]), np.array([10.0, 10.0]))
    assert ramp.duration_s == 0.3
    np.testing.assert_allclose(ramp.end, [0.3, 0.015])


def test_it_stays_where_it_ended() -> None:
    ramp = StopRamp.stopping(np.zeros(2), np.array([1.0, -1.0]), np.array([10.0, 10.0]))
    position, velocity, acceleration = ramp.at(99.0)
    np.testing.assert_allclose(position, ramp.end)
    np.testing.assert_array_equal([velocity, acceleration], np.zeros((2, 2)))
