"""What every transport does, whatever it is made of."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any

import pytest

from heft.drivers import Clock
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.transport import Transport


def content(item: Any) -> Any:
    """What an item carries, without its stamp."""
    return (item.id, item.data) if isinstance(item, CanFrame) else getattr(item, "data", item)


async def collect(end: Transport[Any, Any], expected: list[Any], whole: bool) -> list[Any]:
    """Receive until everything that was sent is there; the items as they came."""
    items: list[Any] = []
    wanted = [content(item) for item in expected]
    size = sum(len(part) for part in wanted) if not whole else 0
    while len(items) < len(expected) if whole else sum(len(i.data) for i in items) < size:
        items += await end.receive()
    got = [content(item) for item in items]
    assert got == wanted if whole else b"".join(got) == b"".join(wanted)
    return items


async def test_exchange_both_ways_in_order(line: Any, clock: Clock) -> None:
    async with line.make(clock) as (near, far), near:
        for sender, receiver in ((near, far), (far, near)):
            sent = [line.item(n) for n in range(200)]
            receiving = asyncio.create_task(collect(receiver, sent, line.whole))
            for item in sent:
                await sender.send(item)
            await receiving


async def test_stamps_are_host_time_and_never_go_back(line: Any, clock: Clock) -> None:
    async with line.make(clock) as (near, far), near:
        before = clock.now_ns()
        left = [await far.send(line.item(n)) for n in range(100)]
        items = await collect(near, [line.item(n) for n in range(100)], line.whole)
        after = clock.now_ns()
    stamps = [item.host_ns for item in items]
    assert before <= left[0]
    assert left == sorted(left)
    assert stamps == sorted(stamps)
    # A kernel stamp is mapped between two clocks, read one after the other: allow for their resolution.
    assert left[0] - 1_000_000 <= stamps[0]
    assert stamps[-1] <= after


async def test_what_waits_comes_at_once(line: Any, clock: Clock) -> None:
    """`receive` gives all that has arrived, not one item per turn of the loop."""
    async with line.make(clock) as (near, far), near:
        for n in range(50):
            await far.send(line.item(n))
        turns = 0
        items: list[Any] = []
        while (len(items) if line.whole else sum(len(i.data) for i in items) // 8) < 50:
            items += await near.receive()
            turns += 1
        assert turns <= 25


async def test_cancelled_receiving_loses_nothing(line: Any, clock: Clock) -> None:
    async with line.make(clock) as (near, far), near:
        got: list[Any] = []

        async def read() -> None:
            while True:
                got.extend(await near.receive())

        sent = [line.item(n) for n in range(30)]
        for n, item in enumerate(sent):
            reader = asyncio.create_task(read())
            for _ in range(n % 3):
                await asyncio.sleep(0)
            await far.send(item)
            for _ in range(n % 5):
                await asyncio.sleep(0)
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
        if line.whole:
            while len(got) < 30:
                got += await near.receive()
            assert [content(item) for item in got] == [content(item) for item in sent]
        else:
            while sum(len(item.data) for item in got) < 240:
                got += await near.receive()
            assert b"".join(item.data for item in got) == b"".join(sent)


async def test_open_close_and_open_again(line: Any, clock: Clock, held: Callable[[], Any]) -> None:
    async with line.make(clock) as (near, _):
        before = held()
        for _ in range(3):
            async with near:
                near.close()
                near.close()
                with pytest.raises(DeviceLost, match=r"wrist: .* was closed by this program"):
                    await near.receive()
                with pytest.raises(DeviceLost, match="wrist: "):
                    await near.send(line.item(0))
            assert held() == before


async def test_closing_wakes_whoever_receives(line: Any, clock: Clock) -> None:
    async with line.make(clock) as (near, _), near:
        receiving = asyncio.create_task(near.receive())
        await asyncio.sleep(0)
        near.close()
        with pytest.raises(DeviceLost, match="was closed by this program"):
            await receiving


async def test_used_before_it_is_open(line: Any, clock: Clock) -> None:
    async with line.make(clock) as (near, _):
        with pytest.raises(DeviceLost, match=r"wrist: .* is not open; .* inside `async with`"):
            await near.send(line.item(0))


async def test_two_readers_are_a_mistake_that_is_named(line: Any, clock: Clock) -> None:
    async with line.make(clock) as (near, _), near:
        one = asyncio.create_task(near.receive())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="wrist: two tasks receive from one"):
            await near.receive()
        one.cancel()
        await asyncio.gather(one, return_exceptions=True)


async def test_a_lost_peer(line: Any, clock: Clock) -> None:
    """A line that can know says so and names the device, having first given what came before."""
    async with line.make(clock) as (near, far), near:
        await far.send(line.item(1))
        await collect(near, [line.item(1)], line.whole)
        far.close()
        if line.notices == "at the next exchange":
            await near.send(line.item(2))
        if line.notices == "never":
            assert await near.send(line.item(2))
        else:
            with pytest.raises(DeviceLost, match=r"^wrist: .*check") as lost:
                await near.receive()
            assert lost.value.device == "wrist"
            with pytest.raises(DeviceLost):
                await near.send(line.item(3))


async def test_what_cannot_be_opened_says_why_and_what_to_do(
    line: Any, clock: Clock, held: Callable[[], Any]
) -> None:
    before = held()
    with pytest.raises(ConnectError, match=line.says) as refused:
        await line.bad(clock).__aenter__()
    assert refused.value.device == "wrist"
    assert refused.value.__cause__ is not None
    assert held() == before


@types.coroutine
def cancelled_at(step: int, work: Coroutine[Any, Any, None]) -> Generator[Any, Any, bool]:
    """Run `work` and cancel it in its `step`-th wait; whether it waited so often."""
    task = asyncio.current_task()
    assert task is not None
    go_on: Callable[[], Any] = partial(work.send, None)
    waits = 0
    try:
        while True:
            waited_for = go_on()
            waits += 1
            if waits == step:
                task.cancel()
            try:
                yield waited_for
                go_on = partial(work.send, None)
            except asyncio.CancelledError as exc:
                go_on = partial(work.throw, exc)
    except StopIteration:
        return waits >= step


async def test_cancelled_at_every_wait_it_leaves_nothing(
    line: Any, clock: Clock, held: Callable[[], Any]
) -> None:
    async def echo(far: Transport[Any, Any]) -> None:
        while True:
            for item in await far.receive():
                await far.send(item if isinstance(item, CanFrame) else item.data)

    async def work() -> None:
        async with line.make(clock) as (near, far), near, asyncio.TaskGroup() as group:
            echoing = group.create_task(echo(far))
            for n in range(3):
                await near.send(line.item(n))
                await collect(near, [line.item(n)], line.whole)
            echoing.cancel()

    async def attempt(step: int) -> bool:
        return await cancelled_at(step, work())

    step, reached = 0, True
    while reached:
        step += 1
        before = held()
        (outcome,) = await asyncio.gather(attempt(step), return_exceptions=True)
        reached = isinstance(outcome, asyncio.CancelledError)
        assert reached or outcome is False, outcome
        assert held() == before
    assert step > 3
