"""The vendor's library, unmodified and over its own transport, drives the emulated controllers."""

from __future__ import annotations

import asyncio
import math
import struct

import moteus
import pytest

from heft.daq.clock import RealClock
from heft.drivers.emulators.moteus import Moteus, MoteusOptions
from heft.drivers.plant.bench import Bench
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink

#: What one step of int8, int16, int32 stands for, by register (the controller's reference manual).
STEPS = {
    0x000: (1.0, 1.0, 1.0),  # mode
    0x001: (0.01, 1e-4, 1e-5),  # position [turn]
    0x002: (0.1, 2.5e-4, 1e-5),  # velocity [turn/s]
    0x003: (0.5, 0.01, 1e-3),  # torque [N m]
    0x00D: (0.5, 0.1, 1e-3),  # voltage [V]
    0x00E: (1.0, 0.1, 1e-3),  # temperature [deg C]
    0x00F: (1.0, 1.0, 1.0),  # fault
}


def decode(data: bytes) -> tuple[dict[int, float], dict[int, int]]:
    """Values and error codes by register, of all subframes of a reply; knows neither the library nor the emulator."""
    values, errors, stream = {}, {}, iter(data)
    for head in stream:
        if head == 0x50:
            continue
        if head in (0x30, 0x31):
            register = next(stream)
            errors[register] = next(stream)
            continue
        assert head & 0xF0 == 0x20, f"{head:#04x} begins no subframe of a reply"
        kind, count = head >> 2 & 3, head & 3 or next(stream)
        first = next(stream)
        for register in range(first, first + count):
            raw = bytes(next(stream) for _ in range((1, 2, 4, 4)[kind]))
            (number,) = struct.unpack(("<b", "<h", "<i", "<f")[kind], raw)
            values[register] = number * (1.0 if kind == 3 else STEPS[register][kind])
    return values, errors


def test_the_decoder_reads_the_example_of_the_documentation():
    values, errors = decode(bytes.fromhex("2404000a005000000170ff230d181400"))
    expected = {0x000: 10, 0x001: 0.008, 0x002: 0.064, 0x003: -1.44, 0x00D: 12.0, 0x00E: 20.0, 0x00F: 0}
    assert values == pytest.approx(expected)
    assert errors == {}


@pytest.fixture
async def arm():
    plant = Bench(RealClock(), axes=("joint1", "joint2"))
    async with Moteus("arm", MoteusOptions(interface="udp_multicast"), plant) as emulated:
        yield emulated


@pytest.fixture
def transport(arm, missing):
    end = arm.endpoint
    try:
        device = moteus.PythonCan(interface="udp_multicast", channel=end["channel"], hop_limit=0, fd=True)
    except OSError:
        missing("python-can's own udp_multicast needs a network; this host has none")
    yield device
    device.close()


async def read(controller: moteus.Controller, register: moteus.Register) -> float:
    """What the library reads; on a busy host it gives up waiting for a reply, and is asked again."""
    while register not in (values := (await controller.query()).values):
        pass
    return values[register]


async def wait_for(controller: moteus.Controller, register: moteus.Register, value: float) -> None:
    """Ask until the register has that value: a reply that the library gave up on answers its next question."""
    while await read(controller, register) != pytest.approx(value, abs=1e-6):
        pass


async def hold(controller: moteus.Controller) -> None:
    """Command position mode, again and again, for as long as the watchdog might bite on a busy host."""
    while (await controller.set_position(position=math.nan, query=True)).values.get(
        moteus.Register.MODE
    ) != moteus.Mode.POSITION:
        pass


async def test_the_library_queries_moves_and_stops(arm, transport):
    one, two = (moteus.Controller(id=i, transport=transport) for i in (1, 2))
    async with asyncio.timeout(20):
        await wait_for(one, moteus.Register.MODE, moteus.Mode.STOPPED)
        await wait_for(one, moteus.Register.POSITION, 0.0)
        await wait_for(one, moteus.Register.VOLTAGE, 24.0)
        await one.set_stop()
        while await read(one, moteus.Register.POSITION) < 0.02:
            result = await one.set_position(position=0.04, query=True)
            if result.values.get(moteus.Register.MODE) == moteus.Mode.TIMEOUT:
                await one.set_stop()
        await wait_for(two, moteus.Register.POSITION, 0.0)
        await one.set_stop()
        await wait_for(one, moteus.Register.MODE, moteus.Mode.STOPPED)


async def test_without_commands_the_watchdog_bites_and_only_a_stop_clears_it(arm, transport):
    one = moteus.Controller(id=1, transport=transport)
    async with asyncio.timeout(20):
        await hold(one)
        await wait_for(one, moteus.Register.MODE, moteus.Mode.TIMEOUT)
        for _ in range(3):  # the first replies may be to questions before
            result = await one.set_position(position=math.nan, query=True)
        assert result.values.get(moteus.Register.MODE) in (None, moteus.Mode.TIMEOUT)
        await one.set_stop()
        await hold(one)


async def test_integers_of_every_size_and_registers_that_are_not_there(arm):
    """Read by a decoder that knows neither the library nor the emulator."""
    clock = RealClock()
    async with CanLink("host", clock, arm.wire.settings) as link:

        async def ask(data: bytes) -> tuple[dict[int, float], dict[int, int]]:
            padded = data.ljust(8, b"\x50")
            await link.send(CanFrame(0x8001, padded, extended=True, fd=True, bitrate_switch=True))
            async with asyncio.timeout(10):
                (frame,) = await link.receive()
            assert (frame.id, frame.fd) == (0x100, True)
            return decode(frame.data)

        for kind in (0x10, 0x14, 0x18, 0x1C):
            values, _ = await ask(bytes([kind | 1, 0x0D]))
            assert values == {0x00D: pytest.approx(24.0)}
        values, _ = await ask(bytes([0x1C, 4, 0x00]))
        assert list(values) == [0x000, 0x001, 0x002, 0x003]
        _, errors = await ask(bytes([0x11, 0x70]))
        assert errors == {0x70: 1}
        await ask(
            bytes([0x0D, 0x20]) + struct.pack("<f", 0.5) + bytes([0x11, 0x00])
        )  # a setpoint without a mode
        assert not arm._stages.on.any()
