"""Emulated serial devices: their bytes, read by decoders that were written for these tests alone."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from heft.drivers.plant.faults import Silence

# -- decoders: by the facts, from the definitions ----------------------------------------------------------------------


def divide(data: bytes, polynomial: int, final: int) -> int:
    """A CRC-16 as long division of bits, low bit first, with the first 16 bits inverted."""
    bits = [byte >> i & 1 for byte in data for i in range(8)]
    bits = [bit ^ (i < 16) for i, bit in enumerate(bits + [0] * 16)]
    for i in range(len(bits) - 16):
        if bits[i]:
            for k in range(17):
                bits[i + k] ^= polynomial >> (16 - k) & 1
    return sum(bit << i for i, bit in enumerate(bits[-16:])) ^ final


def single(data: bytes) -> float:
    """IEEE 754, single precision, low byte first."""
    word = sum(byte << 8 * i for i, byte in enumerate(data))
    sign, exponent, fraction = word >> 31, word >> 23 & 0xFF, word & 0x7FFFFF
    value = math.ldexp(fraction | (0x800000 if exponent else 0), max(exponent, 1) - 150)
    return -value if sign else value


def bota_frames(data: bytes) -> list[tuple[int, list[float], int, float]]:
    """Status, wrench, timestamp, temperature of every frame whose CRC is right."""
    frames, i = [], 0
    while i + 37 <= len(data):
        body = data[i + 1 : i + 35]
        if data[i] == 0xAA and divide(body, 0x11021, 0xFFFF) == data[i + 35] | data[i + 36] << 8:
            wrench = [single(body[2 + 4 * k : 6 + 4 * k]) for k in range(6)]
            stamp = sum(byte << 8 * k for k, byte in enumerate(body[26:30]))
            frames.append((body[0] | body[1] << 8, wrench, stamp, single(body[30:34])))
            i += 37
        else:
            i += 1
    return frames


def ft300_frames(data: bytes) -> list[list[int]]:
    frames, i = [], 0
    while i + 16 <= len(data):
        frame = data[i : i + 16]
        if frame[:2] == b"\x20\x4e" and divide(frame[:14], 0x18005, 0) == frame[14] | frame[15] << 8:
            words = [frame[2 + 2 * k] | frame[3 + 2 * k] << 8 for k in range(6)]
            frames.append([w - 65536 if w > 32767 else w for w in words])
            i += 16
        else:
            i += 1
    return frames


def amt21_value(reply: bytes) -> int:
    """By the data sheet's two equations for the check bits K1 and K0."""
    word = reply[0] | reply[1] << 8
    bit = [word >> i & 1 for i in range(16)]
    assert bit[15] == 1 - (bit[13] + bit[11] + bit[9] + bit[7] + bit[5] + bit[3] + bit[1]) % 2
    assert bit[14] == 1 - (bit[12] + bit[10] + bit[8] + bit[6] + bit[4] + bit[2] + bit[0]) % 2
    return word & 0x3FFF


def test_decoders_read_the_golden_bytes():
    (frame,) = bota_frames(
        bytes.fromhex(
            "aa00000000803f000000c00000f041cdcccc3dcdcc4cbe9a99993e40e201000000cc4137b5".replace(" ", "")
        )
    )
    assert frame[1] == pytest.approx([1, -2, 30, 0.1, -0.2, 0.3])
    assert frame[2:] == (123456, 25.5)
    assert ft300_frames(bytes.fromhex("204e640006ffb80b0f00ecff07000076")) == [[100, -250, 3000, 15, -20, 7]]
    golden = {"00c0": 0, "0180": 1, "0060": 8192, "ff3f": 16383, "ab61": 0x21AB}
    assert {text: amt21_value(bytes.fromhex(text)) for text in golden} == golden


# -- Bota --------------------------------------------------------------------------------------------------------------


async def test_bota_streams_is_configured_and_streams_again(emulated, bench, host, quiet):
    async with emulated("bota_serial", boot_s=0.0, **quiet) as sensor:
        line = host(sensor, 460800)
        frames = bota_frames(await line.read(37 * 5))
        assert {b[2] - a[2] for a, b in pairwise(frames)} == {10_000}, "sinc 512 is 100 Hz"
        line.write(b"C")
        await line.read(10_000, 0.1)
        line.write(b"c,0,1,0,4")
        assert (await line.read(9)).strip() == b"r,0,c,0"
        line.write(b"f,64,0,0,1")
        assert (await line.read(9)).strip() == b"r,0,f,0"
        assert not await line.read(1, 0.05), "it streams in configuration mode"
        line.write(b"R")
        answer = await line.read(37 * 20)
        assert answer.startswith(b"r,0,R,0")
        frames = bota_frames(answer)
    assert {b[2] - a[2] for a, b in pairwise(frames)} == {1250}, "sinc 64 is 800 Hz"
    truth = bench.wrench(np.array([bench.now()]), 0.0)[0]
    assert frames[-1][1] == pytest.approx(-truth, abs=0.1), "it reports what its load does to it"
    assert frames[-1][0] == 0
    assert frames[-1][3] == 27.0


async def test_bota_restarts_when_its_port_is_opened(emulated, host):
    async with emulated("bota_serial", boot_s=0.3) as sensor:
        line = host(sensor, 460800)
        line.write(b"C")  # it is deaf while it starts
        data = await line.read(200, 2.0)
        assert data.startswith(b"App Init")
        assert bota_frames(data)


async def test_a_wrong_baud_rate_gives_garbage(emulated, host):
    async with emulated("bota_serial", boot_s=0.0) as sensor:
        line = host(sensor, 115200)
        data = await line.read(37 * 5)
        assert len(data) > 100
        assert not bota_frames(data)
        line.write(b"C")  # is garbled on its way, and not obeyed
        await line.read(10_000, 0.1)
        assert await line.read(37)


async def test_the_line_carries_no_more_than_its_baud_rate(emulated, host):
    """19200 baud carry 120 frames of 16 bytes per second; a sensor that makes 200 loses some."""
    async with emulated("robotiq_ft300", streaming=True, rate_hz=200.0) as sensor:
        line = host(sensor, 19200)
        await line.read(16 * 10)
        data = await line.read(10_000, 0.5)
        assert len(ft300_frames(data)) <= 75
        assert sensor.wire.overrun > 0


# -- FT 300 ------------------------------------------------------------------------------------------------------------


async def test_ft300_streams_after_the_request_of_the_facts_and_stops(emulated, bench, host, quiet):
    async with emulated("robotiq_ft300", **quiet) as sensor:
        line = host(sensor, 19200)
        assert not await line.read(1, 0.05)
        line.write(bytes.fromhex("0910019a0001020200cdca"))
        data = await line.read(8 + 16 * 5)
        assert data[:6] == bytes.fromhex("0910019a0001"), "the write is confirmed"
        counts = np.array(ft300_frames(data[8:])[-1])
        truth = bench.wrench(np.array([bench.now()]), 0.0)[0]
        assert counts[:3] * 0.01 == pytest.approx(truth[:3], abs=0.1)
        assert counts[3:] * 0.001 == pytest.approx(truth[3:], abs=0.01)
        line.write(b"\xff" * 50)
        await line.read(10_000, 0.1)
        assert not await line.read(1, 0.1), "it still streams"


# -- AMT21 -------------------------------------------------------------------------------------------------------------


async def test_amt21_answers_to_its_address_only(emulated, host):
    encoders = {
        "joint1": {"address": 0x54, "zero": -1.0},
        "joint2": {"address": 0x60, "bits": 12, "zero": 0.5},
    }
    async with emulated("amt21", encoders=encoders) as line_:
        line = host(line_, 2_000_000)
        line.write(b"\x54")
        assert amt21_value(await line.read(2)) == round(1.0 / (2 * np.pi) * 16384)
        line.write(b"\x60")
        assert amt21_value(await line.read(2)) == (round(-0.5 / (2 * np.pi) * 4096) % 4096) << 2
        line.write(b"\x55")
        assert amt21_value(await line.read(2)) == 0, "no turns"
        line.write(b"\x70")
        assert not await line.read(1, 0.05)


async def test_amt21_counts_turns(emulated, host):
    encoders = {"joint1": {"multi_turn": True, "ratio": 10.0, "zero": 2.0}}
    async with emulated("amt21", encoders=encoders) as line_:
        line = host(line_, 2_000_000)
        line.write(b"\x54")
        within = amt21_value(await line.read(2))
        line.write(b"\x55")
        turns = amt21_value(await line.read(2))
    turns -= 0x4000 if turns & 0x2000 else 0
    assert (turns * 16384 + within) / 16384 == pytest.approx(-20.0 / (2 * np.pi), abs=1e-4)


async def test_a_silent_device_hears_but_does_not_answer(emulated, bench, host):
    async with emulated("amt21") as line_:
        line = host(line_, 2_000_000)
        bench.inject(Silence(device="device", at_s=bench.now(), duration_s=0.1))
        line.write(b"\x54")
        assert not await line.read(1, 0.15)
        line.write(b"\x54")
        assert await line.read(2)
