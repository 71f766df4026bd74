"""Sequence numbers from counters and from rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.block import Validity
from heft.drivers.devices.base.byte_times import ByteTimes
from heft.drivers.devices.base.sequence import CounterSequence, Placed, RateSequence, cut
from heft.drivers.driver import Counters
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.transport import Chunk

MS = 1_000_000


def times(n: int, step: int = MS) -> np.ndarray:
    return 10**9 + np.arange(n) * step


def place(sequence: CounterSequence, counters: list[int], start: int = 0) -> Placed:
    return sequence.place(np.array(counters), times(start + len(counters))[start:])


def test_gaps_repeats_and_late_ones_are_counted():
    counters = Counters()
    sequence = CounterSequence(32, 1, 1000.0, counters)
    assert place(sequence, [7, 8, 9]).sequence.tolist() == [0, 1, 2]
    placed = place(sequence, [10, 12, 12, 11, 15], start=3)
    assert placed.rows.tolist() == [0, 1, 4]
    assert placed.sequence.tolist() == [3, 5, 8]
    assert (counters.lost, counters.duplicate, counters.late) == (3, 1, 1)


@given(
    start=st.integers(0, (1 << 32) - 1),
    steps=st.lists(st.integers(1, 5), min_size=1, max_size=50),
    per_sample=st.sampled_from([1, 7, 1250]),
    cuts=st.integers(1, 10),
)
def test_numbers_go_on_through_wraps_however_they_are_cut(start, steps, per_sample, cuts):
    wanted = np.cumsum([0, *steps])
    raw = (start + wanted * per_sample) % (1 << 32)
    counters = Counters()
    sequence = CounterSequence(32, per_sample, 1000.0, counters)
    host_ns = 10**9 + wanted * MS
    parts = [
        sequence.place(r, h)
        for r, h in zip(np.array_split(raw, cuts), np.array_split(host_ns, cuts), strict=True)
    ]
    assert np.concatenate([p.sequence for p in parts]).tolist() == wanted.tolist()
    assert counters.lost == wanted[-1] - len(steps)


def test_a_counter_that_was_set_anew_goes_on_by_time():
    counters = Counters()
    sequence = CounterSequence(32, 1250, 800.0, counters)
    raw = np.array([10_000_000, 10_001_250, 5, 1255])
    host_ns = 10**9 + np.array([0, 1_250_000, 126_250_000, 127_500_000])
    assert sequence.place(raw, host_ns).sequence.tolist() == [0, 1, 101, 102]
    assert counters.lost == 99


def test_after_a_restart_numbers_go_on_by_time():
    sequence = CounterSequence(32, 1, 1000.0, Counters())
    place(sequence, [500, 501])
    sequence.restart()
    assert sequence.place(np.array([1, 2]), times(300)[201:203]).sequence.tolist() == [201, 202]


# -- without a counter -------------------------------------------------------------------------------------------------


def at(sequence: RateSequence, *batches: tuple[float, ...], last: bool = False) -> list[int]:
    """Numbers of samples that came at these times [ms]."""
    host_ns = np.array([10**9 + round(t * MS) for batch in batches for t in batch])
    return sequence.place(host_ns, [len(batch) for batch in batches], last=last).sequence.tolist()


def test_a_late_frame_is_no_loss():
    counters = Counters()
    sequence = RateSequence(100.0, counters)
    assert at(sequence, (0,), (10,), (20.5,)) == [0, 1, 2]
    assert at(sequence, (39,)) == [], "one was lost, or this one is late: wait for the next"
    assert at(sequence, (39,), (40.1,)) == [3, 4], "it was late"
    assert counters.lost == 0


def test_a_host_that_stalls_loses_nothing():
    counters = Counters()
    sequence = RateSequence(100.0, counters)
    at(sequence, (0,), (10,))
    burst = tuple(315 - 8.3 * k for k in reversed(range(30)))  # as near together as the line allows
    assert at(sequence, burst) == list(range(2, 32))
    assert at(sequence, (321,), (331,)) == [32, 33]
    assert counters.lost == 0


def test_a_lost_frame_is_a_gap():
    counters = Counters()
    sequence = RateSequence(100.0, counters)
    at(sequence, (0,), (10,), (20,))
    assert at(sequence, (40,)) == []
    assert at(sequence, (40,), (50,), (60,)) == []
    assert at(sequence, (40,), (50,), (60,), (70,)) == [4, 5, 6, 7]
    assert at(sequence, (121,), last=True) == [12], "nothing more will come: take it as it is"
    assert counters.lost == 1 + 4


def test_several_that_are_late_in_a_row_are_not_lost():
    counters = Counters()
    sequence = RateSequence(100.0, counters)
    at(sequence, (0,), (10,))
    assert at(sequence, (37,), (46,), (55,)) == []
    assert at(sequence, (37,), (46,), (55,), (55.5,)) == [2, 3, 4, 5]
    assert counters.lost == 0


def test_a_stream_that_begins_anew_goes_on_by_time():
    sequence = RateSequence(100.0, Counters())
    at(sequence, (0,), (10,))
    sequence.restart()
    assert at(sequence, (500,), (510,)) == [50, 51]


# -- blocks and times --------------------------------------------------------------------------------------------------


def test_blocks_are_cut_at_gaps():
    stream = Stream("a.b", (Column("x", "force", "N"),), 1000.0, dtype="<i4")
    placed = Placed(np.array([0, 1, 3]), np.array([4, 5, 9]))
    blocks = list(
        cut(
            stream,
            placed,
            host_ns=times(4),
            values=np.arange(4, dtype=np.int32)[:, None],
            validity=np.full((4, 1), Validity.OK, dtype=np.uint8),
            ticks=np.arange(4) * 7,
        )
    )
    assert [(b.sequence, b.values[:, 0].tolist()) for b in blocks] == [(4, [0, 1]), (9, [3])]
    assert blocks[1].ticks.tolist() == [21]
    assert not list(
        cut(stream, Placed(np.arange(0), np.arange(0)), host_ns=times(0), values=None, validity=None)
    )


def test_bytes_of_one_read_came_one_after_the_other():
    line = ByteTimes(100_000)  # 0.1 ms per byte
    chunks = [Chunk(bytes(10), 50 * MS), Chunk(bytes(15), 60 * MS)]
    ends = np.array([105, 110, 120, 125])  # of a stream of 125 bytes
    assert line.of(chunks, ends, 125).tolist() == [49_500_000, 50 * MS, 59_500_000, 60 * MS]
    assert line.of([Chunk(bytes(30), 60 * MS)], np.array([130, 155]), 155).tolist() == [60 * MS, 60 * MS]
    assert not len(line.of([], np.empty(0, np.int64), 155))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_times_never_go_back(n):
    line = ByteTimes(9600)
    rng = np.random.default_rng(n)
    fed, seen = 0, []
    for k in range(20):
        length = int(rng.integers(1, 200))
        fed += length
        ends = np.unique(rng.integers(fed - length + 1, fed + 1, 3))
        seen += line.of([Chunk(bytes(length), k * 5 * MS)], ends, fed).tolist()
    assert seen == sorted(seen)


@pytest.mark.parametrize("batch", [1, 5])
def test_a_counter_that_means_nothing_leaves_the_count_right(batch: int) -> None:
    """Random numbers, in bursts: as many samples as the time says, give or take one burst."""
    rng, counters = np.random.default_rng(3), Counters()
    sequence = CounterSequence(32, 1, 1000.0, counters)
    last = 0
    for k in range(400):
        host_ns = np.full(batch, k * batch * 1_000_000, dtype=np.int64)
        placed = sequence.place(rng.integers(0, 1 << 32, batch), host_ns)
        last = int(placed.sequence[-1]) if len(placed.sequence) else last
    assert abs(last - 400 * batch) <= 2 * batch
    assert counters.lost <= 2 * batch
