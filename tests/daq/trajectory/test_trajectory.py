"""The trajectory type: shapes, rest, joining, and cutting into setpoints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heft.daq.trajectory import Trajectory, minimum_jerk

AXES = ("joint1", "joint2")


def move(begin: tuple[float, float], end: tuple[float, float], rate_hz: float = 1000.0) -> Trajectory:
    return minimum_jerk(begin, end, velocity=(1.0, 1.0), acceleration=(3.0, 3.0), rate_hz=rate_hz, axes=AXES)


@settings(deadline=None, derandomize=True)
@given(
    rate_hz=st.sampled_from([100.0, 333.0, 1000.0, 1234.5]),
    chunk_ms=st.integers(1, 500),
    start_ns=st.integers(0, 2**61),
    sequence=st.integers(0, 10**9),
    end=st.floats(0.001, 1.0),
)
def test_chunks_cover_every_sample_exactly_once(
    rate_hz: float, chunk_ms: int, start_ns: int, sequence: int, end: float
) -> None:
    trajectory = move((0.0, 0.1), (end, -end), rate_hz)
    chunks = list(trajectory.chunks(start_ns, chunk_ns=chunk_ms * 1_000_000, sequence=sequence))
    for label in ("position", "velocity", "acceleration"):
        joined = np.concatenate([getattr(c, label) for c in chunks])
        np.testing.assert_array_equal(joined, getattr(trajectory, label))
    expected = sequence
    for chunk in chunks:
        assert chunk.sequence == expected
        expected += len(chunk)
    assert [c.last for c in chunks] == [False] * (len(chunks) - 1) + [True]
    host_ns = np.concatenate([c.host_ns for c in chunks])
    exact_ns = np.arange(len(trajectory)) * 1e9 / rate_hz
    assert np.max(np.abs((host_ns - start_ns) - exact_ns)) <= 0.5
    assert max(len(c) for c in chunks) <= max(1.0, chunk_ms * 1e-3 * rate_hz + 0.5 + 1e-9)


def test_a_motion_that_does_not_end_at_rest_has_no_last_chunk() -> None:
    whole = move((0.0, 0.0), (1.0, -1.0))
    n = len(whole) // 2
    half = Trajectory(AXES, 1000.0, whole.position[:n], whole.velocity[:n], whole.acceleration[:n])
    assert half.begins_at_rest
    assert not half.ends_at_rest
    assert not any(c.last for c in half.chunks(0, chunk_ns=100_000_000))


def test_then_joins_and_keeps_the_shared_sample_once() -> None:
    first, second = move((0.0, 0.0), (0.3, -0.2)), move((0.3, -0.2), (0.1, 0.5))
    joined = first.then(second)
    assert len(joined) == len(first) + len(second) - 1
    assert joined.duration_s == pytest.approx(first.duration_s + second.duration_s)
    np.testing.assert_array_equal(joined.position[len(first) - 1 :], second.position)
    assert joined.begins_at_rest
    assert joined.ends_at_rest
    assert joined.time_s[-1] == pytest.approx(joined.duration_s)


def test_then_refuses_a_jump_and_names_it() -> None:
    with pytest.raises(ValueError, match=r"position of joint2 jumps from -0.2 to -0.1 .* minimum-jerk"):
        move((0.0, 0.0), (0.3, -0.2)).then(move((0.3, -0.1), (0.0, 0.0)))
    with pytest.raises(ValueError, match="at 500"):
        move((0.0, 0.0), (0.3, -0.2)).then(move((0.3, -0.2), (0.0, 0.0), 500.0))


def test_arrays_are_copied_and_read_only() -> None:
    position = np.zeros((3, 2))
    trajectory = Trajectory(AXES, 1000.0, position, position, position)
    position[0, 0] = 1.0
    assert trajectory.position[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        trajectory.position[0, 0] = 1.0


def test_bad_arrays_are_named() -> None:
    good = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"velocity has shape \(3, 1\)"):
        Trajectory(AXES, 1000.0, good, good[:, :1], good)
    with pytest.raises(ValueError, match=r"acceleration has shape \(2, 2\), position has \(3, 2\)"):
        Trajectory(AXES, 1000.0, good, good, good[:2])
    bad = good.copy()
    bad[1, 1] = np.nan
    with pytest.raises(ValueError, match="velocity of joint2 is nan at sample 1"):
        Trajectory(AXES, 1000.0, good, bad, good)
    with pytest.raises(ValueError, match="rate_hz is 0"):
        Trajectory(AXES, 0.0, good, good, good)
