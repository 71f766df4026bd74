"""Unwrapping of device counters: exact through wraps and gaps, in any cut; jumps are told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from heft.daq.stamps.ticks import Jump, Unwrapper
from heft.drivers.stream import Column, Stream

Int64s = NDArray[np.int64]


def counter(
    sequence: Int64s, per_sample: float, bits: int, start: int, jitter: Int64s | int = 0
) -> tuple[Int64s, Int64s]:
    """True ticks and the raw counter that a device with `bits` shows."""
    true = start + np.rint(sequence * per_sample).astype(np.int64) + jitter
    return true, (true & ((1 << bits) - 1) if bits < 64 else true)


@settings(deadline=None, derandomize=True)
@given(
    bits=st.sampled_from([12, 16, 24, 32, 48, 63, 64]),
    per_sample=st.floats(1.0, 1500.0),
    ppm=st.floats(-300.0, 300.0),
    seed=st.integers(0, 2**31),
    cuts=st.lists(st.integers(0, 400), max_size=8),
)
def test_exact_through_wraps_gaps_and_cuts(
    bits: int, per_sample: float, ppm: float, seed: int, cuts: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    gaps = np.where(rng.random(400) < 0.05, rng.integers(1, 20, 400), 0)
    sequence = np.cumsum(1 + gaps).astype(np.int64)
    start = int(rng.integers(0, 2 ** min(bits, 62)))
    true, raw = counter(sequence, per_sample * (1 + ppm * 1e-6), bits, start)
    unwrapper = Unwrapper(bits, per_sample)
    parts = [
        unwrapper.unwrap(s, r)
        for s, r in zip(np.split(sequence, sorted(cuts)), np.split(raw, sorted(cuts)), strict=True)
    ]
    ticks = np.concatenate([p.ticks for p in parts])
    np.testing.assert_array_equal(ticks - ticks[0], true - true[0])
    assert ticks[0] == raw[0]
    assert not any(p.jumps for p in parts)


def test_a_gap_of_many_turns() -> None:
    """16 bits at 1 MHz go round every 65.5 ms; 1.5 s without a sample are 23 turns."""
    sequence = np.concatenate([np.arange(100), np.arange(1600, 1700)]).astype(np.int64)
    true, raw = counter(sequence, 1000.0 * (1 + 50e-6), 16, 60_000)
    out = Unwrapper(16, 1000.0).unwrap(sequence, raw)
    np.testing.assert_array_equal(out.ticks, true)
    assert out.jumps == ()


def test_a_gap_too_long_to_count_is_told() -> None:
    sequence = np.array([0, 1, 2, 10_000, 10_001], dtype=np.int64)
    _, raw = counter(sequence, 1000.0, 16, 0)
    out = Unwrapper(16, 1000.0).unwrap(sequence, raw)
    assert [(j.sequence, j.lost) for j in out.jumps] == [(10_000, True)]
    np.testing.assert_array_equal(out.rows, [3])
    np.testing.assert_array_equal(out.ticks, 1000 * sequence)


def test_jitter_of_the_device_is_kept() -> None:
    rng = np.random.default_rng(3)
    sequence = np.arange(1000, dtype=np.int64)
    true, raw = counter(sequence, 1000.0, 16, 5, rng.integers(-200, 200, 1000))
    out = Unwrapper(16, 1000.0).unwrap(sequence, raw)
    np.testing.assert_array_equal(np.diff(out.ticks), np.diff(true))
    assert out.jumps == ()


@pytest.mark.parametrize("split", [[], [500], [499, 501]])
def test_a_restart_is_told_and_ticks_go_on(split: list[int]) -> None:
    sequence = np.arange(1000, dtype=np.int64)
    _, raw = counter(sequence, 1000.0, 32, 7_000_000)
    raw[500:] = 1000 * np.arange(500) + 123
    unwrapper = Unwrapper(32, 1000.0)
    parts = [
        unwrapper.unwrap(s, r) for s, r in zip(np.split(sequence, split), np.split(raw, split), strict=True)
    ]
    jumps = [j for p in parts for j in p.jumps]
    assert jumps == [Jump(sequence=500, ticks=123 - 7_500_000, lost=False)]
    ticks = np.concatenate([p.ticks for p in parts])
    np.testing.assert_array_equal(np.diff(ticks), 1000)


def test_a_stuck_counter_is_told_at_every_sample() -> None:
    sequence = np.arange(100, dtype=np.int64)
    _, raw = counter(sequence, 1000.0, 16, 0)
    raw[50:60] = raw[49]
    out = Unwrapper(16, 1000.0).unwrap(sequence, raw)
    np.testing.assert_array_equal(
        out.rows, np.arange(50, 61)
    )  # ten times stuck, and the leap when it comes loose
    np.testing.assert_array_equal(out.ticks, 1000 * sequence)


def test_late_samples_get_their_own_tick() -> None:
    sequence = np.array([0, 1, 2, 5, 3, 4, 6], dtype=np.int64)
    true, raw = counter(sequence, 1000.0, 12, 4000)
    out = Unwrapper(12, 1000.0).unwrap(sequence, raw)
    np.testing.assert_array_equal(out.ticks - out.ticks[0], true - true[0])
    assert out.jumps == ()


def test_of_a_stream() -> None:
    stream = Stream("wrist.wrench", (Column("x", "force", "N"),), 1000.0, tick_hz=1e6, tick_bits=32)
    out = Unwrapper.of(stream).unwrap(np.array([4, 5]), np.array([2**32 - 1, 999]))
    np.testing.assert_array_equal(out.ticks, [2**32 - 1, 2**32 + 999])
    assert len(Unwrapper.of(stream).unwrap(np.zeros(0, np.int64), np.zeros(0, np.int64)).ticks) == 0
    with pytest.raises(ValueError, match=r"wrist.wrench has no device counter"):
        Unwrapper.of(Stream("wrist.wrench", (), 1000.0))


def test_counters_that_cannot_be_unwrapped_are_refused() -> None:
    with pytest.raises(ValueError, match=r"8 bits with 1000 ticks per sample goes round in 0\.256 samples"):
        Unwrapper(8, 1000.0)
    with pytest.raises(ValueError, match="65 bits"):
        Unwrapper(65, 1000.0)
    with pytest.raises(ValueError, match="0 ticks per sample"):
        Unwrapper(16, 0.0)
