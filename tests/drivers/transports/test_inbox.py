"""The queue between a line and its reader."""

from __future__ import annotations

import asyncio

import pytest

from heft.drivers.errors import DeviceLost
from heft.drivers.transports.inbox import Inbox


async def test_items_come_before_the_error_and_the_first_error_stays() -> None:
    inbox: Inbox[int] = Inbox("wrist")
    inbox.put([1, 2])
    inbox.fail(DeviceLost("wrist", "first"))
    inbox.fail(DeviceLost("wrist", "second"))
    inbox.put([3])  # after the end
    assert await inbox.take() == [1, 2]
    for _ in range(2):
        with pytest.raises(DeviceLost, match="wrist: first"):
            await inbox.take()


async def test_a_stalled_reader_loses_its_line_loudly() -> None:
    inbox: Inbox[int] = Inbox("wrist", limit=100)
    for n in range(150):
        inbox.put([n])
    assert await inbox.take() == list(range(101))
    with pytest.raises(
        DeviceLost, match="wrist: 101 items wait unread, the bound is 100: the reader has stalled"
    ):
        await inbox.take()


async def test_nothing_put_wakes_nobody() -> None:
    inbox: Inbox[int] = Inbox("wrist")
    taking = asyncio.create_task(inbox.take())
    await asyncio.sleep(0)
    inbox.put([])
    await asyncio.sleep(0)
    assert not taking.done()
    inbox.put([1])
    assert await taking == [1]
