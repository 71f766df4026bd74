"""Emulated Modbus devices, read by pymodbus, which others wrote, and by the vendor's printed frames."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from pymodbus.client import AsyncModbusSerialClient

from heft.drivers.emulators.protocols.modbus_slave import IllegalAddress, ModbusSlave

BOTTLE = {"mass": 0.53, "com": (0, 0, 0.16), "inertia": (0.002, 0.002, 0.0003, 0, 0, 0), "width": 0.06}


@asynccontextmanager
async def client(emulator: Any, baud: int) -> AsyncIterator[AsyncModbusSerialClient]:
    peer = AsyncModbusSerialClient(emulator.endpoint["pty"], baudrate=baud, timeout=1.0, retries=1)
    assert await peer.connect()
    try:
        yield peer
    finally:
        peer.close()
        await asyncio.sleep(0.01)


async def status(peer: AsyncModbusSerialClient) -> dict[str, int]:
    """The gripper's six bytes, by the names in its manual."""
    answer = await peer.read_input_registers(0x07D0, count=3, device_id=9)
    assert not answer.isError()
    raw = b"".join(r.to_bytes(2, "big") for r in answer.registers)
    return {
        "gACT": raw[0] & 1,
        "gGTO": raw[0] >> 3 & 1,
        "gSTA": raw[0] >> 4 & 3,
        "gOBJ": raw[0] >> 6,
        "gFLT": raw[2] & 15,
        "gPR": raw[3],
        "gPO": raw[4],
        "gCU": raw[5],
    }


async def until(peer: AsyncModbusSerialClient, **wanted: int) -> dict[str, int]:
    for _ in range(400):
        seen = await status(peer)
        if all(seen[key] == value for key, value in wanted.items()):
            return seen
        await asyncio.sleep(0.005)
    raise AssertionError(f"never {wanted}, at last {seen}")


async def test_pymodbus_activates_grips_and_releases(emulated, bench):
    async with (
        emulated("robotiq_2f", objects={"bottle": BOTTLE}, activation_s=0.05) as gripper,
        client(gripper, 115200) as peer,
    ):
        assert (await status(peer))["gFLT"] == 7, "not activated"
        await peer.write_registers(0x03E8, [0x0100, 0, 0], device_id=9)
        await until(peer, gSTA=3, gFLT=0)
        before = bench.wrench(np.array([0.0]), 0.0)[0]
        await peer.write_registers(0x03E8, [0x0900, 0x00FF, 0xFFFF], device_id=9)
        assert (await status(peer))["gOBJ"] == 0, "moving"
        held = await until(peer, gOBJ=2)
        assert held["gPR"] == 255
        assert held["gPO"] == round(230 - (230 - 13) * 0.06 / 0.085)
        assert held["gCU"] == 40
        bench.now()
        weight = np.linalg.norm(bench.wrench(np.array([0.0]), 0.0)[0][:3]) - np.linalg.norm(before[:3])
        assert weight == pytest.approx(0.53 * 9.81), "the plant carries it"
        gripper.slip()
        assert (await until(peer, gOBJ=3))["gPO"] == 230, "dropped: closed on nothing"
        await peer.write_registers(0x03E8, [0x0900, 0x0000, 0xFFFF], device_id=9)
        assert (await until(peer, gOBJ=3, gPR=0))["gPO"] == 13


async def test_pymodbus_reads_the_ft300(emulated, bench, quiet):
    async with emulated("robotiq_ft300", serial=70001, **quiet) as sensor, client(sensor, 19200) as peer:
        answer = await peer.read_holding_registers(180, count=6, device_id=9)
        counts = np.array(answer.registers, dtype=np.uint16).astype(np.int16)
        truth = bench.wrench(np.array([bench.now()]), 0.0)[0]
        assert counts * np.repeat([0.01, 0.001], 3) == pytest.approx(truth, abs=0.1)
        number = (await peer.read_holding_registers(510, count=4, device_id=9)).registers
        assert b"".join(r.to_bytes(2, "big") for r in number) == b"FTS\0" + (70001).to_bytes(4, "big")
        refused = await peer.read_holding_registers(7, count=1, device_id=9)
        assert refused.isError()
        assert refused.exception_code == 2


def test_printed_requests_are_understood():
    """Robotiq 2F manual: read three registers at 0x07D0, write three at 0x03E8."""
    written: list[tuple[int, tuple[int, ...]]] = []
    slave = ModbusSlave(9, lambda a, n: (0xB900, 0x00FF, 0xBD00), lambda a, r: written.append((a, tuple(r))))
    request = bytes.fromhex("090407D00003B1CE")
    assert slave.feed(request, 0) == [bytes.fromhex("090406B90000FFBD005C9A")], "as printed"
    activate = bytes.fromhex("091003E800030601000000000072E1")
    assert slave.feed(activate, 0) == [bytes.fromhex("091003E800030130")]
    assert written == [(0x03E8, (0x0100, 0, 0))]
    assert slave.feed(b"\xff\xff" + request[:5], 0) == []
    assert len(slave.feed(request[5:], 1_000_000)) == 1, "found after noise, in two pieces"
    assert slave.feed(request[:5], 2_000_000) == []
    assert slave.feed(request, 100_000_000) != [], "an unfinished request is forgotten after a pause"
    other = bytes.fromhex("0A0407D00003B1FD")
    assert slave.feed(other, 200_000_000) == []


def test_what_does_not_exist_is_refused():
    def nothing(*_: object) -> Any:
        raise IllegalAddress

    slave = ModbusSlave(9, nothing, nothing)
    assert slave.feed(bytes.fromhex("090407D00003B1CE"), 0)[0][:3] == b"\x09\x84\x02"
