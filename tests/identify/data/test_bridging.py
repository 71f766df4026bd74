"""Gaps: bridged while short, masked where doubtful, never bridged when long."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from heft.identify.data import Dataset, Processing, filtered_rows, survey
from heft.identify.data.resampling import at_instants
from heft.identify.robot import Robot


def without(data: Dataset, *gaps: tuple[int, int]) -> Dataset:
    keep = np.ones(len(data.t), dtype=bool)
    for start, stop in gaps:
        keep[start:stop] = False
    return Dataset.from_arrays(data.t[keep], data.q[keep], data.tau[keep])


def test_short_gaps_are_bridged_by_what_is_around_them(arm: Robot, make: Callable[..., Dataset]) -> None:
    whole = make(np.arange(8000) * 1e-3)
    rng = np.random.default_rng(0)
    noisy = Dataset.from_arrays(whole.t, whole.q, whole.tau + 0.1 * rng.standard_normal(whole.tau.shape))
    filled, spans = without(noisy, (2000, 2020), (5000, 5500)).bridged(0.05)
    assert len(filled.t) == 8000 - 500
    assert spans == ((pytest.approx(1.999), pytest.approx(2.020)),)
    at = slice(2000, 2020)
    assert np.abs(filled.q[at] - whole.q[at]).max() < 1e-6
    assert (
        np.abs(filled.tau[at] - whole.tau[at]).max() < 0.3
    )  # no swing: a few standard deviations of the noise


def test_nothing_to_bridge_is_the_same_object(make: Callable[..., Dataset]) -> None:
    data = make(np.arange(1000) * 1e-3)
    assert data.bridged(0.05) == (data, ())


def test_rows_at_long_bridges_and_beyond_gaps(arm: Robot, make: Callable[..., Dataset]) -> None:
    data = without(make(np.arange(12000) * 1e-3), (3000, 3008), (6000, 6040), (9000, 9300))
    processing = Processing(8.0)
    found = survey(arm, data, processing)
    assert len(found.sampling.pieces) == 2  # 0.3 s is a gap, whatever the cut-off
    assert len(found.gaps) == 1
    assert any(
        "2 gaps, 0.05 s in all, are bridged (the longest of 41 ms, bound 62 ms)" in n for n in found.notes
    )
    rows = list(filtered_rows(arm, data, processing, found))
    time = np.concatenate([block.time for block in rows])
    keep = np.concatenate([block.keep for block in rows]).all(axis=1)
    near = (time > 5.95) & (time < 6.09)
    assert not keep[near].any()
    assert keep[(time > 2.8) & (time < 3.2)].all()
    assert not ((time > 8.99) & (time < 9.31)).any()


def test_faster_streams_do_not_fold(make: Callable[..., Dataset]) -> None:
    """1 kHz with a hum at 240 Hz, wanted at 250 Hz: picked or interpolated, it would come out at 10 Hz."""
    fast = np.arange(8000) * 1e-3
    wanted = np.arange(1, 1900) * 4e-3 + 0.3e-3
    values = np.stack([np.sin(2 * fast), np.sin(2 * np.pi * 240 * fast)], axis=1)
    found, near = at_instants(wanted, fast, values)
    assert near.all()
    inner = slice(20, -20)
    assert np.abs(found[inner, 0] - np.sin(2 * wanted[inner])).max() < 2e-3
    assert np.abs(found[inner, 1]).max() < 5e-3


def test_slower_streams_are_interpolated(make: Callable[..., Dataset]) -> None:
    slow, wanted = np.arange(800) * 1e-2, np.arange(100, 7900) * 1e-3
    found, near = at_instants(wanted, slow, np.sin(3 * slow)[:, None])
    assert near.all()
    assert np.abs(found[:, 0] - np.sin(3 * wanted)).max() < 1e-6


def test_missing_stays_missing() -> None:
    t = np.arange(1000) * 1e-3
    keep = np.ones(1000, dtype=bool)
    keep[400:450] = False
    _, near = at_instants(t, t[keep], np.zeros((950, 1)))
    assert near.tolist() == keep.tolist()
    _, near = at_instants(t[:-1] + 0.4e-3, t[keep], np.zeros((950, 1)))
    assert not near[401:448].any()
    assert near[:398].all()
