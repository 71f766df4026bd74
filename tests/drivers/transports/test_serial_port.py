"""Serial ports over a pseudo-terminal: what the conformance suite does not ask."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from heft.daq.clock import RealClock
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.transports.pty_port import PtyPort
from heft.drivers.transports.serial_port import SerialPort


def port_of(pty: PtyPort, **options: int | str) -> SerialPort:
    return SerialPort("wrist", pty.clock, port=pty.path, **{"baudrate": 460_800, **options})  # type: ignore[arg-type]


async def test_bytes_go_through_unchanged(clock: RealClock) -> None:
    every = bytes(range(256)) * 16  # none of them means anything to the terminal
    async with PtyPort("emulator", clock) as pty, port_of(pty) as port:
        for sender, receiver in ((pty, port), (port, pty)):
            sending = asyncio.create_task(sender.send(every))
            got = b""
            while len(got) < len(every):
                got += b"".join(chunk.data for chunk in await receiver.receive())
            assert got == every
            await sending


async def test_a_port_is_opened_once(clock: RealClock) -> None:
    async with PtyPort("emulator", clock) as pty, port_of(pty):
        with pytest.raises(
            ConnectError, match=r"wrist: cannot open /dev/.*: another program has it open; close"
        ):
            await port_of(pty).__aenter__()


async def test_what_is_no_serial_port(clock: RealClock, tmp_path: Path) -> None:
    file = tmp_path / "not_a_port"
    file.touch()
    with pytest.raises(ConnectError, match="not a serial port; check the name"):
        await SerialPort("wrist", clock, port=str(file), baudrate=9600).__aenter__()
    async with PtyPort("emulator", clock) as pty:
        with pytest.raises(ConnectError, match="check the port's settings"):
            await port_of(pty, parity="X").__aenter__()


async def test_a_slow_line_makes_the_sender_wait_not_the_loop(clock: RealClock) -> None:
    data = os.urandom(300_000)  # far more than a terminal keeps
    async with PtyPort("emulator", clock) as pty, port_of(pty) as port:
        sending = asyncio.create_task(port.send(data))
        second = asyncio.create_task(port.send(b"after"))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not sending.done()
        got = b""
        while len(got) < len(data) + 5:
            got += b"".join(chunk.data for chunk in await pty.receive())
        assert got == data + b"after"  # whole, and not mixed
        assert await sending <= await second


async def test_closing_ends_a_waiting_sender(clock: RealClock) -> None:
    async with PtyPort("emulator", clock) as pty, port_of(pty) as port:
        sending = asyncio.create_task(port.send(bytes(300_000)))
        for _ in range(10):
            await asyncio.sleep(0)
        port.close()
        with pytest.raises(DeviceLost, match="was closed by this program"):
            await sending


async def test_a_cancelled_sender_leaves_the_line_usable(clock: RealClock) -> None:
    async with PtyPort("emulator", clock) as pty, port_of(pty) as port:
        sending = asyncio.create_task(port.send(bytes(300_000)))
        for _ in range(10):
            await asyncio.sleep(0)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        after = asyncio.create_task(port.send(b"\x01"))
        while not any(b"\x01" in chunk.data for chunk in await pty.receive()):
            pass
        await after


async def test_unplugged_while_sending(clock: RealClock) -> None:
    async with PtyPort("emulator", clock) as pty, port_of(pty) as port:
        sending = asyncio.create_task(port.send(bytes(300_000)))
        for _ in range(10):
            await asyncio.sleep(0)
        pty.close()
        with pytest.raises(DeviceLost, match=r"^wrist: "):
            await sending
        with pytest.raises(
            DeviceLost, match=r"wrist: /dev/.* at 460800 baud is gone \(.*\); check the cable"
        ):
            await port.receive()


async def test_the_emulated_port_outlives_those_who_open_it(clock: RealClock) -> None:
    async with PtyPort("emulator", clock) as pty:
        for _ in range(3):
            async with port_of(pty) as port:
                await port.send(b"?")
                assert [chunk.data for chunk in await pty.receive()] == [b"?"]
                await pty.send(b"!")
                assert [chunk.data for chunk in await port.receive()] == [b"!"]


async def test_what_came_before_opening_is_not_received(clock: RealClock) -> None:
    async with PtyPort("emulator", clock) as pty:
        await pty.send(b"stale")
        async with port_of(pty) as port:
            await pty.send(b"fresh")
            assert [chunk.data for chunk in await port.receive()] == [b"fresh"]
