"""Lines that bring more than any device can send: a share is taken in, the rest waits outside of this program."""

from __future__ import annotations

import asyncio

import pytest

from heft.daq.clock import ManualClock
from heft.drivers.transports import byte_line, can_link
from heft.drivers.transports.can_bus import CanSettings
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink
from heft.drivers.transports.pty_port import PtyPort
from heft.drivers.transports.serial_port import SerialPort


async def test_a_flooded_serial_line(manual: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_line, "_PER_SECOND", 4000.0)
    async with (
        PtyPort("stranger", manual) as pty,
        SerialPort("wrist", manual, port=pty.path, baudrate=460_800) as port,
    ):
        await pty.send(bytes(3000))
        got = 0
        while got < 1000:  # a quarter of a second's worth, and time stands
            got += sum(len(chunk.data) for chunk in await port.receive())
        assert got == 1000
        more = asyncio.create_task(port.receive())
        await asyncio.sleep(0.03)
        assert not more.done()
        await manual.advance(10**9)
        got += sum(len(chunk.data) for chunk in await more)
        assert got == 2000


async def test_a_flooded_can_bus(manual: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(can_link, "_PER_SECOND", 400.0)
    settings = CanSettings("virtual", "flooded")
    async with CanLink("stranger", manual, settings) as stranger, CanLink("arm", manual, settings) as arm:
        for number in range(300):
            await stranger.send(CanFrame(number, b"noise"))
        got = 0
        while got < 100:
            got += len(await arm.receive())
        assert got == 100
        more = asyncio.create_task(arm.receive())
        await asyncio.sleep(0.03)
        assert not more.done()
        await manual.advance(10**9)
        got += len(await more)
        assert got == 200
