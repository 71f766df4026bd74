"""What a dataset accepts, and what it says of the rest."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.data import Dataset
from heft.identify.data.sampling import Sampling
from heft.identify.errors import DataError

T = np.arange(100) * 1e-3


def arrays(joints: int = 3) -> tuple[np.ndarray, np.ndarray]:
    q = np.random.default_rng(0).standard_normal((100, joints))
    return q, 2 * q


def test_keeps_the_callers_arrays() -> None:
    q, tau = arrays()
    data = Dataset.from_arrays(t=T, q=q, tau=tau)
    assert data.q is q
    assert data.tau is tau
    assert (len(data), data.joints) == (100, 3)
    assert data.duration_s == pytest.approx(0.099)


def test_shapes() -> None:
    q, tau = arrays()
    with pytest.raises(DataError, match=r"tau has shape \(100, 2\); with 100 stamps it must be \(100, 3\)"):
        Dataset.from_arrays(T, q, tau[:, :2])
    with pytest.raises(DataError, match=r"q has shape \(99, 3\)"):
        Dataset.from_arrays(T, q[1:], tau)
    with pytest.raises(DataError, match=r"wrench has shape \(100, 3\).*\(100, 6\)"):
        Dataset.from_arrays(T, q, tau, wrench=q)
    with pytest.raises(DataError, match="at least 16 stamps"):
        Dataset.from_arrays(T[:5], q[:5], tau[:5])
    with pytest.raises(DataError, match="q holds"):
        Dataset.from_arrays(T, np.full((100, 3), "a"), tau)


def test_a_dataset_itself_takes_only_clean_numbers() -> None:
    """`from_arrays` cleans; what is made by hand is checked."""
    q, tau = arrays()
    bad = tau.copy()
    bad[42, 1] = np.nan
    with pytest.raises(DataError, match=r"tau\[42, 1\] is nan; leave samples out"):
        Dataset(T, q, bad)
    late = T.copy()
    late[60] = late[59]
    with pytest.raises(
        DataError,
        match=r"time does not increase: t\[60\] = [-\d.e]+ s follows [-\d.e]+ s; .*sort the samples",
    ):
        Dataset(late, q, tau)


def test_parts() -> None:
    q, tau = arrays()
    data = Dataset.from_arrays(T, q, tau, dq=q)
    first, rest = data.split(0.67)
    assert (len(first), len(rest)) == (67, 33)
    assert np.shares_memory(first.q, q)
    assert rest.dq is not None
    assert data.between(0.02, 0.05).t[[0, -1]] == pytest.approx([0.02, 0.049])
    with pytest.raises(DataError, match=r"10 samples from 0 to 0\.01 s; the data run from 0 to 0\.099 s"):
        data.between(0, 0.01)
    with pytest.raises(DataError, match="between 0 and 1"):
        data.split(1.5)


def test_fingerprint_is_of_the_numbers() -> None:
    q, tau = arrays()
    one = Dataset.from_arrays(T, q, tau).fingerprint
    assert one == Dataset.from_arrays(T.copy(), np.asfortranarray(q), tau.copy()).fingerprint
    other = tau.copy()
    other[0, 0] += 1e-12
    assert one != Dataset.from_arrays(T, q, other).fingerprint


def test_sampling_even() -> None:
    sampling = Sampling.of(np.arange(50000) * 0.002 + 17.3, 0.1)
    assert sampling.even
    assert sampling.step_s == pytest.approx(0.002, rel=1e-9)
    assert [(p.first, p.last, p.count) for p in sampling.pieces] == [(0, 50000, 50000)]


def test_sampling_with_jitter_and_lost_samples() -> None:
    rng = np.random.default_rng(0)
    t = np.delete(np.arange(2000) * 1e-3, [100, 101, 700]) + rng.uniform(-1e-4, 1e-4, 1997)
    sampling = Sampling.of(t, 0.02)
    assert not sampling.even
    assert len(sampling.pieces) == 1
    assert sampling.step_s == pytest.approx(1e-3, rel=0.02)
    assert sampling.longest_s == pytest.approx(3e-3, rel=0.1)


def test_sampling_with_gaps() -> None:
    t = np.concatenate([np.arange(500), np.arange(700, 1500)]) * 1e-3
    sampling = Sampling.of(t, 0.05)
    assert [(p.first, p.last, p.count, p.even) for p in sampling.pieces] == [
        (0, 500, 500, True),
        (500, 1300, 800, True),
    ]
    assert sampling.lost_s == pytest.approx(0.201)
    assert sampling.pieces[1].start_s == pytest.approx(0.7)


def test_sampling_that_is_nothing_but_gaps() -> None:
    t = np.cumsum(np.tile([0.001, 0.001, 0.001, 0.5], 10))
    with pytest.raises(DataError, match=r"\d+ gaps in 40 samples leave no 8 samples together"):
        Sampling.of(t, 0.05)


def test_interpolation_to_the_grid() -> None:
    rng = np.random.default_rng(1)
    t = np.arange(3000) * 1e-3 + rng.uniform(-2e-4, 2e-4, 3000)
    q = np.stack([np.sin(3 * t), np.cos(5 * t)], axis=1)
    data = Dataset.from_arrays(t, q, q)
    sampling = Sampling.of(t, 0.05)
    piece, step = sampling.pieces[0], sampling.step_s
    (grid, _), tau = data.motion(piece, step, 0, piece.count), data.torque(piece, step, 0, piece.count)
    at = piece.start_s + step * np.arange(piece.count)
    assert np.abs(grid - np.stack([np.sin(3 * at), np.cos(5 * at)])).max() < 1e-10
    part, _ = data.motion(piece, step, 777, 1234)
    assert np.array_equal(part, grid[:, 777:1234])  # a block is the same wherever it is cut
    assert np.array_equal(tau, grid)
