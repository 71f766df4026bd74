"""What the emulated MIT motors send, read by a decoder that shares nothing with the codec or the emulator.

It writes the payload as a string of bits and cuts it by the field lengths of the protocol's description.
"""

from __future__ import annotations

import asyncio
import struct
from fractions import Fraction

import numpy as np
import pytest

from heft.daq.clock import RealClock
from heft.drivers.emulators.mit_can import MitCan, MitOptions
from heft.drivers.plant.bench import Bench
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink


def bits(data):
    return "".join(f"{byte:08b}" for byte in data)


def number(text, limit):
    """Lower end at all zeros, upper end at all ones."""
    return float(-limit + Fraction(int(text, 2), 2 ** len(text) - 1) * 2 * limit)


def command(position, velocity, kp, kd, torque, limits):
    fields = ((position, limits[0], 16), (velocity, limits[1], 12))
    text = "".join(f"{round((v + m) / (2 * m) * (2**n - 1)):0{n}b}" for v, m, n in fields)
    text += f"{round(kp / 500 * 4095):012b}{round(kd / 5 * 4095):012b}"
    text += f"{round((torque + limits[2]) / (2 * limits[2]) * 4095):012b}"
    return bytes(int(text[i : i + 8], 2) for i in range(0, 64, 8))


AK80_9, DM8009 = (12.5, 50.0, 18.0), (12.5, 45.0, 54.0)
MOTORS = ({"model": "AK80-9", "motor": 1}, {"model": "DM8009", "motor": 2, "reply": 0x22})


@pytest.fixture
async def bench():
    clock = RealClock()
    plant = Bench(clock, axes=("joint1", "joint2"), posture=np.array([0.7, -1.1]))
    options = MitOptions(interface="virtual", motors=MOTORS)
    async with MitCan("arm", options, plant) as arm, CanLink("host", clock, arm.wire.settings) as link:

        async def ask(identifier, data):
            await link.send(CanFrame(identifier, data))
            async with asyncio.timeout(10):
                (frame,) = await link.receive()
            return frame

        yield arm, plant, ask


async def test_feedback_of_both_dialects(bench):
    _, _, ask = bench
    idle = command(0, 0, 0, 0, 0, AK80_9)
    frame = await ask(1, idle)
    assert frame.id == 0
    text = bits(frame.data)
    assert int(text[:8], 2) == 1
    assert number(text[8:24], 12.5) == pytest.approx(0.7, abs=4e-4)
    assert number(text[24:36], 50.0) == pytest.approx(0.0, abs=0.025)
    assert number(text[36:48], 18.0) == pytest.approx(0.0, abs=0.009)
    assert frame.data[7] == 0
    frame = await ask(2, command(0, 0, 0, 0, 0, DM8009))
    assert frame.id == 0x22
    text = bits(frame.data)
    assert int(text[4:8], 2) == 2
    assert int(text[:4], 2) == 0, "a motor that is off says so"
    assert number(text[8:24], 12.5) == pytest.approx(-1.1, abs=4e-4)


async def test_a_motor_moves_by_its_spring_and_says_nothing_unasked(bench):
    arm, _, ask = bench
    frame = await ask(2, b"\xff" * 7 + b"\xfc")
    assert frame.data[0] >> 4 == 1
    async with asyncio.timeout(20):
        text = ""
        while not text or abs(number(text[8:24], 12.5) + 0.9) > 0.01:
            text = bits((await ask(2, command(-0.9, 0.0, 60.0, 5.0, 0.0, DM8009))).data)
    frame = await ask(2, b"\xff" * 7 + b"\xfd")
    assert frame.data[0] >> 4 == 0
    assert not arm._stages.on.any()


async def test_registers(bench):
    _, _, ask = bench
    for register, code, value in ((21, "<f", 12.5), (22, "<f", 45.0), (23, "<f", 54.0), (10, "<I", 1)):
        frame = await ask(0x7FF, bytes([2, 0, 0x33, register, 0, 0, 0, 0]))
        assert frame.id == 0x22
        assert frame.data[:4] == bytes([2, 0, 0x33, register])
        assert struct.unpack(code, frame.data[4:]) == (value,)
    frame = await ask(0x7FF, bytes([2, 0, 0x55, 9]) + struct.pack("<I", 4000))
    assert struct.unpack("<I", frame.data[4:]) == (4000,)


async def test_what_an_ak_motor_sends_wraps(bench):
    _, plant, ask = bench
    plant._q[0] = 12.6  # beyond its range
    plant.advance(plant.clock.now_ns() + 20_000_000)
    text = bits((await ask(1, command(0, 0, 0, 0, 0, AK80_9))).data)
    assert number(text[8:24], 12.5) == pytest.approx(-12.4, abs=0.01)
