"""The vendor's library, unmodified and over its own transport, drives the emulated controllers."""

from __future__ import annotations

import asyncio
import math
import struct

import moteus
import pytest

from daq.clock import RealClock
from drivers.codecs.moteus import Register, Reply
from drivers.emulators.bench import Bench
from drivers.emulators.moteus import Moteus, MoteusOptions
from drivers.transports import CanFrame, CanLink


@pytest.fixture
async def arm():
    plant = Bench(RealClock(), axes=("joint1", "joint2"))
    async with Moteus("arm", MoteusOptions(interface="udp_multicast"), plant) as emulated:
        yield emulated


@pytest.fixture
def transport(arm):
    end = arm.endpoint
    try:
        device = moteus.PythonCan(interface="udp_multicast", channel=end["channel"], hop_limit=0, fd=True)
    except OSError:
        pytest.skip("python-can's own udp_multicast needs a network; this host has none")
    yield device
    device.close()


async def told(controller: moteus.Controller, register: moteus.Register) -> float:
    """What the library reads; a reply without that value, seen once in many runs, is asked for again."""
    while register not in (values := (await controller.query()).values):
        pass
    return values[register]


async def test_the_library_queries_moves_and_stops(arm, transport):
    one, two = (moteus.Controller(id=i, transport=transport) for i in (1, 2))
    async with asyncio.timeout(20):
        result = await one.query()
        assert result.values[moteus.Register.MODE] == moteus.Mode.STOPPED
        assert result.values[moteus.Register.POSITION] == pytest.approx(0.0, abs=1e-6)
        assert result.values[moteus.Register.VOLTAGE] == pytest.approx(24.0)
        await one.set_stop()
        for step in range(1, 41):
            result = await one.set_position(position=0.001 * step, velocity=0.0, query=True)
        assert result.values[moteus.Register.MODE] == moteus.Mode.POSITION
        while await told(one, moteus.Register.POSITION) < 0.02:
            await one.set_position(position=0.04, query=True)
        assert await told(two, moteus.Register.POSITION) == pytest.approx(0.0, abs=1e-6)
        await one.set_stop()
        assert await told(one, moteus.Register.MODE) == moteus.Mode.STOPPED


async def test_without_commands_the_watchdog_bites_and_only_a_stop_clears_it(arm, transport):
    one = moteus.Controller(id=1, transport=transport)
    async with asyncio.timeout(20):
        await one.set_position(position=math.nan, query=True)
        while await told(one, moteus.Register.MODE) != moteus.Mode.TIMEOUT:
            pass
        result = await one.set_position(position=math.nan, query=True)
        assert result.values[moteus.Register.MODE] == moteus.Mode.TIMEOUT
        await one.set_stop()
        result = await one.set_position(position=math.nan, query=True)
        assert result.values[moteus.Register.MODE] == moteus.Mode.POSITION


async def test_integers_of_every_size_and_registers_that_are_not_there(arm):
    """Read by a decoder that knows neither the library nor the emulator."""
    clock = RealClock()
    async with CanLink("host", clock, arm.wire.settings) as link:

        async def ask(data: bytes) -> Reply:
            padded = data.ljust(8, b"\x50")
            await link.send(CanFrame(0x8001, padded, extended=True, fd=True, bitrate_switch=True))
            async with asyncio.timeout(10):
                (frame,) = await link.receive()
            assert (frame.id, frame.fd) == (0x100, True)
            return Reply.decode(frame.data)

        for kind in (0x10, 0x14, 0x18, 0x1C):
            reply = await ask(bytes([kind | 1, 0x0D]))
            assert reply.values == {Register.VOLTAGE: pytest.approx(24.0)}
        reply = await ask(bytes([0x1C, 4, 0x00]))
        assert list(reply.values) == [Register.MODE, Register.POSITION, Register.VELOCITY, Register.TORQUE]
        reply = await ask(bytes([0x11, 0x70]))
        assert reply.errors == {0x70: 1}
        await ask(
            bytes([0x0D, 0x20]) + struct.pack("<f", 0.5) + bytes([0x11, 0x00])
        )  # a setpoint without a mode
        assert not arm._stages.on.any()
