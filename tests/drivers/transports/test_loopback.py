"""Faults on command, in time that the test moves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daq.clock import ManualClock
from drivers.errors import DeviceLost
from drivers.transports import (
    CanFrame,
    FaultInjector,
    Faults,
    loopback_bytes,
    loopback_can,
    loopback_datagrams,
)

MS = 1_000_000


async def exchange(clock: ManualClock, faults: Faults, count: int = 1000, seed: int = 1) -> list[bytes]:
    """What arrives of `count` numbered datagrams."""
    near, far = loopback_datagrams("wrist", clock, seed=seed)
    async with near, far:
        far.faults = faults
        for n in range(count):
            await far.send(b"%08d" % n)
        far.faults = Faults()
        await far.send(b"end")
        got: list[bytes] = []
        while not got or got[-1] != b"end":
            got += [datagram.data for datagram in await near.receive()]
    return got[:-1]


async def test_no_faults_no_changes(manual: ManualClock) -> None:
    assert await exchange(manual, Faults()) == [b"%08d" % n for n in range(1000)]


async def test_drop(manual: ManualClock) -> None:
    got = await exchange(manual, Faults(drop=0.1))
    assert 850 < len(got) < 950
    assert got == sorted(got)


async def test_corrupt_flips_one_bit(manual: ManualClock) -> None:
    got = await exchange(manual, Faults(corrupt=0.2))
    flips = [(int.from_bytes(data) ^ int.from_bytes(b"%08d" % n)).bit_count() for n, data in enumerate(got)]
    assert len(got) == 1000
    assert set(flips) == {0, 1}
    assert 150 < sum(flips) < 250


async def test_truncate(manual: ManualClock) -> None:
    got = await exchange(manual, Faults(truncate=1.0))
    assert all(len(data) < 8 and (b"%08d" % n).startswith(data) for n, data in enumerate(got))
    assert {len(data) for data in got} == set(range(8))


async def test_duplicate(manual: ManualClock) -> None:
    assert await exchange(manual, Faults(duplicate=1.0), 3) == [b"%08d" % (n // 2) for n in range(6)]


async def test_silence_and_back(manual: ManualClock) -> None:
    near, far = loopback_bytes("wrist", manual)
    async with near, far:
        far.faults = Faults(silence=True)
        await far.send(b"unheard")
        await near.send(b"the other way works")
        assert [chunk.data for chunk in await far.receive()] == [b"the other way works"]
        far.faults = Faults()
        await far.send(b"heard")
        assert [chunk.data for chunk in await near.receive()] == [b"heard"]


async def test_for_so_many_items_only(manual: ManualClock) -> None:
    near, far = loopback_bytes("wrist", manual)
    async with near, far:
        far.faults = Faults(drop=1.0, items=2)
        for letter in (b"a", b"b", b"c", b"d"):
            await far.send(letter)
        assert [chunk.data for chunk in await near.receive()] == [b"c", b"d"]
        assert far.faults == Faults()


async def test_delay_passes_by_the_clock_and_nothing_overtakes(manual: ManualClock) -> None:
    near, far = loopback_bytes("wrist", manual)
    async with near, far:
        start_ns = manual.now_ns()
        far.faults = Faults(delay_s=0.010, items=1)
        assert await far.send(b"late") == start_ns
        await far.send(b"behind it")
        receiving = asyncio.create_task(near.receive())
        await manual.advance(9 * MS)
        assert not receiving.done()
        await manual.advance(2 * MS)
        chunks = await receiving
        assert [chunk.data for chunk in chunks] == [b"late", b"behind it"]
        assert [chunk.host_ns for chunk in chunks] == [start_ns + 10 * MS] * 2


async def test_a_reader_cancelled_during_a_delay_loses_nothing(manual: ManualClock) -> None:
    near, far = loopback_bytes("wrist", manual)
    async with near, far:
        far.faults = Faults(delay_s=0.010)
        await far.send(b"late")
        receiving = asyncio.create_task(near.receive())
        await manual.advance(5 * MS)
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
        await manual.advance(5 * MS)
        assert [chunk.data for chunk in await near.receive()] == [b"late"]


async def test_disconnect_gives_what_is_under_way_then_the_loss(manual: ManualClock) -> None:
    near, far = loopback_can("arm", manual)
    async with near, far:
        await far.send(CanFrame(1, b"last"))
        far.disconnect()
        (frame,) = await near.receive()
        assert (frame.data, frame.host_ns) == (b"last", manual.now_ns())
        for end in (near, far):
            with pytest.raises(DeviceLost, match="arm: loopback line was unplugged; check its cable"):
                await end.receive()
            with pytest.raises(DeviceLost, match="was unplugged"):
                await end.send(CanFrame(1))
    async with near, far:  # plugged in again
        await near.send(CanFrame(2))
        assert [frame.id for frame in await far.receive()] == [2]


async def test_what_is_sent_to_a_closed_end_is_lost(manual: ManualClock) -> None:
    near, far = loopback_bytes("wrist", manual)
    async with near:
        await near.send(b"nobody there")
        async with far:
            await near.send(b"somebody there")
            assert [chunk.data for chunk in await far.receive()] == [b"somebody there"]


async def test_equal_seeds_give_equal_faults(manual: ManualClock) -> None:
    faults = Faults(drop=0.1, corrupt=0.1, truncate=0.1, duplicate=0.1)
    first, again, other = [await exchange(manual, faults, seed=seed) for seed in (3, 3, 4)]
    assert first == again
    assert first != other


PROBABILITY = st.floats(0, 1)
FAULTS = st.builds(
    Faults,
    drop=PROBABILITY,
    corrupt=PROBABILITY,
    truncate=PROBABILITY,
    duplicate=PROBABILITY,
    delay_s=st.floats(0, 1),
    jitter_s=st.floats(0, 1),
)
FRAMES = st.builds(lambda data: CanFrame(1, data), st.binary(max_size=8))
FD_FRAMES = st.builds(lambda n: CanFrame(1, bytes(n), fd=True), st.sampled_from([0, 8, 12, 48, 64]))


@given(FAULTS, st.lists(st.binary(max_size=100) | FRAMES | FD_FRAMES, max_size=20), st.integers(0, 1000))
def test_whatever_goes_wrong_items_stay_possible_and_in_order(
    faults: Faults, items: list[Any], seed: int
) -> None:
    injector: FaultInjector[Any] = FaultInjector(seed)
    injector.faults = faults
    deliveries = [delivery for n, item in enumerate(items) for delivery in injector.pass_on(item, n * MS)]
    due = [delivery.due_ns for delivery in deliveries]
    assert due == sorted(due)
    assert len(deliveries) <= 2 * len(items)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"drop": 1.5}, "drop is 1.5, a probability is from 0 to 1"),
        ({"delay_s": -1.0}, "delay_s is -1.0 s, must not"),
    ],
)
def test_faults_that_cannot_be(arguments: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Faults(**arguments)  # type: ignore[arg-type]
