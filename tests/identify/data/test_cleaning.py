"""Arrays with what recordings have, too: lost, late, repeated, held and corrupt samples."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.data import Dataset
from heft.identify.data.held_samples import fresh_samples
from heft.identify.data.spikes import spikes
from heft.identify.errors import DataError

T = np.arange(4000) * 1e-3


def arrays(noise: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Two joints, torques with friction that turns over."""
    rng = np.random.default_rng(0)
    phase = 2 * np.pi * 0.5 * T[:, None] + [0.0, 1.0]
    q = np.sin(phase) + 1e-6 * rng.standard_normal((len(T), 2))
    return q, 5 * np.sin(phase) + 2 * np.sign(np.cos(phase)) + noise * rng.standard_normal((len(T), 2))


def test_clean_arrays_are_the_callers_own() -> None:
    q, tau = arrays()
    data = Dataset.from_arrays(T, q, tau)
    assert data.q is q
    assert data.tau is tau
    assert (data.removed, data.notes) == ({}, ())


def test_rows_that_are_no_numbers() -> None:
    q, tau = arrays()
    tau[42, 1], q[50, 0] = np.nan, np.inf
    t = T.copy()
    t[60] = np.nan
    data = Dataset.from_arrays(t, q, tau)
    assert len(data) == len(T) - 3
    assert data.removed["invalid"] == 3
    assert data.sent == {"arrays": len(T)}
    assert "3 of 4000 rows are left out: 3 invalid" in data.notes
    tau[:2100] = np.nan
    with pytest.raises(DataError, match=r"rows cannot be used \(2\d+ invalid\), at most 50 %"):
        Dataset.from_arrays(t, q, tau)


def test_repeated_stamps() -> None:
    q, tau = arrays()
    t = T.copy()
    t[60] = t[59]
    data = Dataset.from_arrays(t, q, tau)
    assert data.removed["repeated"] == 1
    assert np.diff(data.t).min() > 0
    assert any("1 repeated" in note for note in data.notes)


def test_rows_out_of_order_are_put_into_their_place() -> None:
    q, tau = arrays()
    order = np.arange(len(T))
    order[[100, 101]] = order[[101, 100]]
    order[[2000, 2003]] = order[[2003, 2000]]
    data = Dataset.from_arrays(T[order], q[order], tau[order])
    np.testing.assert_array_equal(data.q, q)
    np.testing.assert_array_equal(data.t, T)
    assert any("out of order" in note for note in data.notes)


@pytest.mark.parametrize("order", [np.arange(4000)[::-1], np.random.default_rng(7).permutation(4000)])
def test_rows_in_no_order_are_sorted(order: np.ndarray) -> None:
    q, tau = arrays()
    data = Dataset.from_arrays(T[order], q[order], tau[order])
    np.testing.assert_array_equal(data.t, T)
    np.testing.assert_array_equal(data.tau, tau)
    assert any("rows were out of order" in note for note in data.notes)


@pytest.mark.parametrize("wrong", [-3.0, 1e9])
def test_a_stamp_far_from_its_place(wrong: float) -> None:
    q, tau = arrays()
    t = T.copy()
    t[1500] = wrong
    data = Dataset.from_arrays(t, q, tau)
    assert data.removed["far out of order"] == 1
    np.testing.assert_array_equal(data.t, np.delete(T, 1500))


def test_two_recordings_in_one_array() -> None:
    q, tau = arrays()
    t = np.concatenate([T[:2500], T[:1500]])
    with pytest.raises(DataError, match=r"time starts anew: t\[2500\] = .* dataset of its own"):
        Dataset.from_arrays(t, q, tau)


def test_stale_rows_are_left_out_and_rest_is_not() -> None:
    q, tau = (np.round(x, 4) for x in arrays())
    for k in (700, 1300, 1301):
        q[k], tau[k] = q[k - 1], tau[k - 1]
    q[3000:], tau[3000:] = q[3000], tau[3000]
    data = Dataset.from_arrays(T, q, tau)
    assert data.removed["held"] == 3
    assert data.t[-1] == T[-1]
    assert np.isin(T[[700, 1300, 1301]], data.t).sum() == 0


@pytest.mark.parametrize("held", [("q",), ("tau",), ("q", "tau")])
def test_signals_that_are_held(held: tuple[str, ...]) -> None:
    """Measured at 100 Hz, read at 1 kHz: 100 samples a second are left, and they are right."""
    q, tau = arrays()
    tables = {"q": q, "tau": tau}
    for name in held:
        tables[name] = np.repeat(tables[name][::10], 10, axis=0)
    data = Dataset.from_arrays(T, tables["q"], tables["tau"])
    assert len(data) == pytest.approx(400, abs=8)
    assert data.removed["held"] == 3600
    for name in held:
        assert any(note.startswith(f"{name} is held") for note in data.notes)
    at = np.round(data.t * 1000).astype(int)
    np.testing.assert_allclose(data.q, q[at], atol=1e-4)
    smooth = (
        np.abs(np.cos(2 * np.pi * 0.5 * data.t[:, None] + [0.0, 1.0])) > 0.3
    )  # away from friction's steps
    np.testing.assert_allclose(data.tau[smooth], tau[at][smooth], atol=0.05)


def test_coarse_encoders_are_not_held() -> None:
    q, _ = arrays()
    assert fresh_samples(np.round(q, 2)).all()
    assert fresh_samples(np.round(0.02 * T[:, None], 4)).all()  # one joint, even speed: a step every 5 ms
    assert not fresh_samples(np.repeat(np.round(q, 3)[::7], 7, axis=0)).all()


@pytest.mark.parametrize("rows", [[1000], [1000, 1001, 1002], [5, 300, 301, 3990, 3991]])
def test_spikes(rows: list[int]) -> None:
    q, tau = arrays()
    tau[rows] = 1e6
    data = Dataset.from_arrays(T, q, tau)
    assert data.removed["spike"] == len(rows)
    assert np.abs(data.tau).max() < 10
    assert any(f"{len(rows)} spike" in note for note in data.notes)


def test_a_large_spike_does_not_hide_a_small_one() -> None:
    tau = arrays()[1]
    tau[1000, 0], tau[2000, 0] = 1e6, tau[2000, 0] + 1.0
    assert set(np.flatnonzero(spikes(T, tau))) == {1000, 2000}


def test_what_is_no_spike() -> None:
    """Noise, friction that turns over in one sample, quantisation, an arm that rests nearly always, a clean sine."""
    q, tau = arrays()
    quiet = 1e-4 * np.random.default_rng(1).standard_normal((len(T), 2))
    moves = quiet.copy()
    moves[2000:2200] += np.random.default_rng(2).standard_normal((200, 2))
    for values in (
        q,
        tau,
        np.round(tau, 1),
        np.round(tau),
        moves,
        np.sin(3 * T)[:, None],
        np.zeros((len(T), 1)),
    ):
        assert not spikes(T, values).any()


def test_a_wrench_is_cleaned_for_itself() -> None:
    q, tau = arrays()
    wrench = np.random.default_rng(3).standard_normal((len(T), 6))
    wrench[10:20] = np.nan
    wrench[500, 2], wrench[900, 4] = np.inf, 1e6
    data = Dataset.from_arrays(T, q, tau, wrench=wrench)
    assert len(data) == len(T)
    assert data.wrench is not None
    assert set(np.flatnonzero(np.isnan(data.wrench).any(axis=1))) == {*range(10, 20), 500, 900}
    assert data.notes == ("2 samples of wrench are left out: spikes, or not finite",)
    assert wrench[900, 4] == 1e6  # the caller's own stays


def test_the_account_adds_up_in_parts_too() -> None:
    q, tau = arrays()
    tau[[100, 3000]] = 1e6
    for part in (Dataset.from_arrays(T, q, tau), *Dataset.from_arrays(T, q, tau).split(0.67)):
        assert sum(part.sent.values()) - sum(part.removed.values()) == len(part)
