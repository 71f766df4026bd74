"""Minima and maxima of intervals, and the bounded memory behind a page."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream
from heft.service.web.hub import Hub
from heft.service.web.page_feed import PageFeed
from heft.service.web.ring import StreamRing, envelope

STREAM = Stream(
    "arm.motion", (Column("joint1", "position", "rad"), Column("joint1", "velocity", "rad/s")), 1000.0
)
MS = 1_000_000


def block(first: int, n: int, values: np.ndarray | None = None) -> Block:
    times = (first + np.arange(n)) * MS + 5 * MS
    numbers = np.stack([np.sin(times * 1e-9), times * 1e-9], axis=1) if values is None else values
    return Block(STREAM, first, times.astype(np.int64), numbers, np.zeros((n, 2), dtype=np.uint8))


@given(st.lists(st.integers(1, 400), min_size=1, max_size=20), st.integers(1, 50))
def test_no_value_is_outside_its_interval(sizes: list[int], width: int) -> None:
    rng = np.random.default_rng(0)
    ring, first = StreamRing(STREAM), 0
    everything = []
    for n in sizes:
        values = rng.normal(size=(n, 2))
        everything.append(values)
        ring.add(block(first, n, values))
        first += n
    times, values, forgotten = ring.since(0)
    assert forgotten == 0
    np.testing.assert_array_equal(values, np.concatenate(everything))
    middle, low, high = envelope(times, values, width * MS)
    assert low.min() == values.min()
    assert high.max() == values.max()
    for t, a, b in zip(middle, low, high, strict=True):
        inside = values[times // (width * MS) == t // (width * MS)]
        np.testing.assert_array_equal(a, inside.min(axis=0))
        np.testing.assert_array_equal(b, inside.max(axis=0))


def test_a_spike_of_one_sample_is_seen_and_what_is_not_valid_is_not() -> None:
    values = np.zeros((1000, 2))
    values[437, 0] = 9.0
    values[:100, 1] = np.nan
    _, low, high = envelope(block(0, 1000).host_ns, values, 100 * MS)
    assert high[:, 0].max() == 9.0
    assert np.isnan(low[0, 1])
    assert low[2, 1] == 0.0


def test_the_oldest_is_forgotten_and_counted() -> None:
    ring = StreamRing(STREAM)
    for k in range(70):
        ring.add(block(1000 * k, 1000))
    times, _, forgotten = ring.since(0)
    assert len(times) == 60_000
    assert forgotten == 10_000
    assert times[-1] - times[0] == 59_999 * MS


def test_a_page_that_stalls_is_told_what_it_has_missed() -> None:
    hub = Hub("", lambda: ["joint1"])
    hub.rings[STREAM.name] = ring = StreamRing(STREAM)
    ring.add(block(0, 1000))
    feed = PageFeed(hub)
    feed.plot(["arm.motion:joint1.position", "arm.motion:nothing", "no stream:x", 7])
    assert feed.take()["plots"]["arm.motion"]["columns"] == ["joint1.position"]
    for k in range(1, 80):  # more than a minute, and nobody takes anything
        ring.add(block(1000 * k, 1000))
    plots = feed.take()["plots"]["arm.motion"]
    assert len(plots["t"]) <= 1001
    assert feed.take()["frame"]["missed"] > 60_000
    assert hub.posture()[0] is not None


def test_a_block_that_is_longer_than_the_memory_leaves_its_last_samples() -> None:
    slow = Stream("log", (Column("joint1", "position", "rad"),), 10.0)
    ring = StreamRing(slow)
    for first, n in ((0, 100), (100, 7013)):
        times = (first + np.arange(n)) * 100 * MS + MS
        numbers = np.arange(first, first + n, dtype=float)[:, None]
        ring.add(Block(slow, first, times.astype(np.int64), numbers, np.zeros((n, 1), dtype=np.uint8)))
    times, values, _ = ring.since(0)
    assert ring.latest[0] == 7112
    assert (np.diff(times) > 0).all()
    np.testing.assert_array_equal(values[:, 0], np.arange(6113, 7113))


def test_what_was_before_a_jump_back_is_neither_shown_nor_called_missed() -> None:
    ring = StreamRing(STREAM)
    ring.add(block(10_000, 5000))
    ring.add(block(0, 10))
    times, _, forgotten = ring.since(5000)
    assert (len(times), forgotten) == (10, 0)
    times, _, forgotten = ring.since(0)
    assert (len(times), forgotten) == (10, 0)


def test_a_plot_goes_on_where_its_stream_becomes_another() -> None:
    """As when a recording of another arm is replayed: the same name, fewer columns, samples counted anew."""
    hub = Hub("", list)
    hub.rings[STREAM.name] = ring = StreamRing(STREAM)
    for k in range(10):
        ring.add(block(1000 * k, 1000))
    feed = PageFeed(hub)
    feed.plot(["arm.motion:joint1.position", "arm.motion:joint1.velocity"])
    assert feed.take()["plots"]["arm.motion"]["columns"] == ["joint1.position", "joint1.velocity"]
    narrow = Stream("arm.motion", STREAM.columns[:1], 1000.0)
    hub.rings[STREAM.name] = ring = StreamRing(narrow)
    times = ((np.arange(500) + 1) * MS).astype(np.int64)
    ring.add(Block(narrow, 0, times, np.ones((500, 1)), np.zeros((500, 1), dtype=np.uint8)))
    news = feed.take()
    assert news["plots"]["arm.motion"]["columns"] == ["joint1.position"]
    assert news["frame"]["missed"] == 0
