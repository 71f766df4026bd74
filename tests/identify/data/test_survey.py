"""What is noticed about data before they are used."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from heft.identify.data import Dataset, Processing, choose_cutoff, survey
from heft.identify.errors import DataError
from heft.identify.robot import Robot


def test_cutoff_is_thirty_times_the_bandwidth(make: Callable[..., Dataset]) -> None:
    data = make(np.arange(40000) * 1e-3)
    assert choose_cutoff(data) == pytest.approx(30 * 0.6, rel=0.12)  # three harmonics of 0.2 Hz


def test_fast_motion_is_cut_where_arms_bend(make: Callable[..., Dataset]) -> None:
    slow = make(np.arange(40000) * 1e-3)
    assert choose_cutoff(Dataset.from_arrays(slow.t / 4, slow.q, slow.tau)) == 20.0


@pytest.mark.parametrize(("sigma", "expected"), [(1e-6, 18.0), (3e-4, 5.8), (3e-3, 4.8)])
def test_noisy_positions_lower_the_cutoff(
    make: Callable[..., Dataset], sigma: float, expected: float
) -> None:
    """Acceleration noise below f: sigma (2 pi)^2 sqrt(2 f^5 / (5 rate)); never below 8 times the bandwidth."""
    data = make(np.arange(40000) * 1e-3)
    noise = sigma * np.random.default_rng(0).standard_normal(data.q.shape)
    noisy = Dataset.from_arrays(data.t, data.q + noise, data.tau)
    assert choose_cutoff(noisy) == pytest.approx(expected, rel=0.12)


def test_short_data_get_a_cutoff_that_leaves_some_of_them(make: Callable[..., Dataset]) -> None:
    assert choose_cutoff(make(np.arange(1000) * 1e-3)) == pytest.approx(40.0, rel=0.1)


def test_wrong_number_of_joints(arm: Robot) -> None:
    q = np.random.default_rng(0).standard_normal((100, 2))
    data = Dataset.from_arrays(np.arange(100) * 1e-2, q, q)
    with pytest.raises(
        DataError, match=r"2 columns of positions, but .* has 3 joints \(joint1, joint2, joint3\)"
    ):
        survey(arm, data, Processing(1.0))


def test_a_joint_that_never_moves_is_named(arm: Robot, make: Callable[..., Dataset]) -> None:
    data = make(np.arange(10000) * 1e-3)
    q = data.q.copy()
    q[:, 1] = 0.3 + 1e-5 * np.sin(data.t)
    found = survey(arm, Dataset.from_arrays(data.t, q, data.tau), Processing(6.0))
    assert "joint2 does not move (2e-05 rad in all, the widest moves 1.7 rad)" in found.notes[0]
    assert "lock it in the model" in found.notes[0]
    assert sum(b - a for a, b in found.rest[1]) == pytest.approx(10.0, rel=0.01)


def test_nothing_moves(arm: Robot) -> None:
    still = Dataset.from_arrays(np.arange(1000) * 1e-2, np.zeros((1000, 3)), np.ones((1000, 3)))
    with pytest.raises(DataError, match="no joint moves"):
        choose_cutoff(still)
    with pytest.raises(DataError, match="no joint moves"):
        survey(arm, still, Processing(1.0))


def test_standstill_is_found_and_said(arm: Robot, make: Callable[..., Dataset]) -> None:
    data = make(np.arange(10000) * 1e-3)
    q = data.q.copy()
    q[7400:] = q[7400]
    stopped = Dataset.from_arrays(data.t, q, data.tau)
    found = survey(arm, stopped, Processing(6.0))
    for intervals in found.rest:
        assert intervals[-1] == pytest.approx((7.4, 10.0), abs=0.03)
    assert any("standstill left out: 2." in note and "to 10.00 s" in note for note in found.notes)
    assert not any(survey(arm, stopped, Processing(6.0, leave_rest=False)).rest)
    assert not any(survey(arm.with_terms(("viscous",)), stopped, Processing(6.0)).rest)


def test_uneven_stamps_and_gaps_are_said(arm: Robot, make: Callable[..., Dataset]) -> None:
    rng = np.random.default_rng(0)
    t = np.arange(10000) * 1e-3 + rng.uniform(-2e-4, 2e-4, 10000)
    t[5000:] += 0.5
    found = survey(arm, make(t), Processing(6.0))
    assert "stamps are uneven" in found.notes[0]
    assert "1 gaps, 0.501 s in all" in found.notes[1]
    assert len(found.sampling.pieces) == 2


def test_cutoff_beyond_the_sampling(arm: Robot, make: Callable[..., Dataset]) -> None:
    with pytest.raises(DataError, match=r"cut-off 60 Hz at 100 samples/s: at most 40 Hz"):
        survey(arm, make(np.arange(2000) * 1e-2), Processing(60.0))
