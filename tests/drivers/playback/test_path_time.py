"""Time along a trajectory on a late host."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from heft.drivers.playback.path_time import PathTime

PERIOD_NS = 4_000_000
LIMIT, ACCELERATION = np.array([2.0]), np.array([10.0])


def play(
    gaps: list[int], bridged: int, *, limit: NDArray[np.float64] | None = LIMIT, hz: float = 0.5
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A sine at the velocity limit, with cycles left out: times [s] and what is sent [rad], shape (N,) each."""
    amplitude = LIMIT[0] / (2.0 * np.pi * hz)
    path = PathTime(PERIOD_NS, bridged, limit, ACCELERATION, 0)
    times, positions, due_ns = [0.0], [0.0], 0
    for gap in gaps:
        due_ns += gap * PERIOD_NS
        s = path.now_ns * 1e-9
        v = amplitude * 2.0 * np.pi * hz * np.cos(2.0 * np.pi * hz * s)
        a = -amplitude * (2.0 * np.pi * hz) ** 2 * np.sin(2.0 * np.pi * hz * s)
        path.advance(due_ns, due_ns, np.array([v]), np.array([a]), stopping=False)
        times.append(due_ns * 1e-9)
        positions.append(amplitude * np.sin(2.0 * np.pi * hz * path.now_ns * 1e-9))
    return np.array(times), np.array(positions)


@settings(deadline=None, max_examples=200)
@given(gaps=st.lists(st.integers(1, 40), min_size=30, max_size=120), bridged=st.sampled_from([1, 2, 10]))
def test_no_cycle_is_sent_faster_than_the_limit(gaps: list[int], bridged: int) -> None:
    t, q = play(gaps, bridged)
    assert np.max(np.abs(np.diff(q)) / np.diff(t)) <= LIMIT[0] * (1 + 1e-3)
    in_one = np.abs(np.diff(q)) / (PERIOD_NS * 1e-9)
    assert in_one.max() <= bridged * LIMIT[0] * (1 + 1e-3)


def test_a_punctual_host_plays_the_trajectory_as_it_is() -> None:
    t, q = play([1] * 500, 1)
    np.testing.assert_allclose(q, LIMIT[0] / np.pi * np.sin(np.pi * t), atol=1e-12)


def test_what_was_lost_is_made_up_for_where_the_joint_may_go_faster() -> None:
    t, q = play([1] * 50 + [3] + [1] * 600, 1)
    behind = LIMIT[0] / np.pi * np.sin(np.pi * t) - q
    assert np.abs(behind).max() > 0.005
    assert np.abs(behind[-1]) < 1e-9


def test_after_a_long_gap_it_starts_gently() -> None:
    """The drives have stopped meanwhile: from there on the velocity grows by the acceleration limit."""
    t, q = play([1] * 20 + [25] + [1] * 50, 1)
    velocity = np.diff(q) / np.diff(t)
    after = velocity[21:50]
    assert after[0] < 0.2
    assert np.diff(after).max() / (PERIOD_NS * 1e-9) <= ACCELERATION[0] * 1.1


def test_without_limits_it_never_goes_faster_than_the_trajectory() -> None:
    path = PathTime(PERIOD_NS, 1, None, ACCELERATION, 0)
    for k in (*range(10), *range(14, 200)):
        path.advance(k * PERIOD_NS, k * PERIOD_NS, np.array([0.1]), np.array([0.0]), stopping=False)
        assert path.rate <= 1.0
    assert 199 * PERIOD_NS - path.now_ns >= 3 * PERIOD_NS  # the lateness stays


def test_commands_in_a_bunch_do_not_add_up() -> None:
    """A host that sends three cycles at once, late: the path goes on by the time that has passed in between."""
    path = PathTime(PERIOD_NS, 10, LIMIT, ACCELERATION, 0)
    v, a = np.array([1.0]), np.array([0.0])
    path.advance(10 * PERIOD_NS, 10 * PERIOD_NS, v, a, stopping=False)
    reached = path.now_ns
    path.advance(20 * PERIOD_NS, 10 * PERIOD_NS + 100_000, v, a, stopping=False)
    assert path.now_ns - reached == pytest.approx(PERIOD_NS // 2 + 100_000, rel=0.11)


def test_of_cycles_in_close_order_only_the_first_is_early() -> None:
    """Ten cycles, told in half the time: the path goes on by that time, and half a period."""
    path = PathTime(PERIOD_NS, 1, LIMIT, ACCELERATION, 0)
    v, a = np.array([2.0]), np.array([0.0])
    for k in range(1, 11):
        path.advance(k * PERIOD_NS, 20 * PERIOD_NS + k * PERIOD_NS // 2, v, a, stopping=False)
    assert path.now_ns <= 6.5 * PERIOD_NS
