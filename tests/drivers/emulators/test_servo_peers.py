"""Client libraries of others, each in a process of its own, read and move emulated servos."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys

import pytest

DYNAMIXEL = """
import json, sys
from dynamixel_sdk import *

port, bus = PortHandler(sys.argv[1]), PacketHandler(2.0)
assert port.openPort() and port.setBaudRate(1000000)
told = {}
told["ping"] = [bus.ping(port, i) for i in (1, 2)]
told["nobody"] = bus.ping(port, 99)[1:]
told["delay"] = bus.read1ByteTxRx(port, 1, 9)
told["hole"] = bus.read1ByteTxRx(port, 1, 66)
told["read only"] = bus.write2ByteTxRx(port, 1, 0, 7)
told["too short"] = bus.write1ByteTxRx(port, 1, 116, 7)
told["range"] = bus.write1ByteTxRx(port, 1, 64, 7)
before = [bus.read4ByteTxRx(port, i, 132)[0] for i in (1, 2)]
told["torque"] = [bus.write1ByteTxRx(port, i, 64, 1) for i in (1, 2)]
told["locked"] = bus.write1ByteTxRx(port, 1, 9, 0)
write = GroupSyncWrite(port, bus, 116, 4)
for i, at in zip((1, 2), before):
    write.addParam(i, list((at + 100).to_bytes(4, "little")))
told["sync write"] = write.txPacket()
import time; time.sleep(0.7)
sync = GroupSyncRead(port, bus, 120, 16)
for i in (1, 2): sync.addParam(i)
told["sync read"] = sync.txRxPacket()
told["moved"] = [sync.getData(i, 132, 4) - at for i, at in zip((1, 2), before)]
ticks = [sync.getData(1, 120, 2)]
time.sleep(0.1); sync.txRxPacket(); ticks.append(sync.getData(1, 120, 2))
told["ticks"] = ticks
bulk = GroupBulkRead(port, bus)
bulk.addParam(1, 144, 2); bulk.addParam(2, 146, 1)
told["bulk read"] = bulk.txRxPacket(), bulk.getData(1, 144, 2), bulk.getData(2, 146, 1)
told["watchdog"] = bus.write1ByteTxRx(port, 1, 98, 5), bus.read1ByteTxRx(port, 1, 98)
time.sleep(0.4)
told["fired"] = bus.read1ByteTxRx(port, 1, 98)
told["refused"] = bus.write4ByteTxRx(port, 1, 116, 2048)
told["reboot"] = bus.reboot(port, 1), bus.read1ByteTxRx(port, 1, 98), bus.read1ByteTxRx(port, 1, 64)
port.closePort()
print("TOLD", json.dumps(told))
"""

FEETECH = """
import json, sys, time
from scservo_sdk import *

port, bus = PortHandler(sys.argv[1]), PacketHandler(0)
port.setPacketTimeout = lambda n: port.setPacketTimeoutMillis(60)
assert port.openPort() and port.setBaudRate(1000000)
told = {"ping": [bus.ping(port, i) for i in (1, 2)]}
before = [bus.read2ByteTxRx(port, i, 56)[0] for i in (1, 2)]
told["torque"] = [bus.write1ByteTxRx(port, i, 40, 1) for i in (1, 2)]
write = GroupSyncWrite(port, bus, 42, 2)
for i, at in zip((1, 2), before):
    write.addParam(i, [at + 50 & 255, at + 50 >> 8])
told["sync write"] = write.txPacket()
time.sleep(0.7)
sync = GroupSyncRead(port, bus, 56, 15)
for i in (1, 2): sync.addParam(i)
told["sync read"] = sync.txRxPacket()
told["moved"] = [sync.getData(i, 56, 2) - at for i, at in zip((1, 2), before)]
port.closePort()
print("TOLD", json.dumps(told))
"""


async def told_by(program: str, port: object) -> dict:
    async with asyncio.timeout(60):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, str(port), stdout=-1, stderr=-2
        )
        output, _ = await process.communicate()
    said = output.decode()
    lines = [line for line in said.splitlines() if line.startswith("TOLD ")]
    assert lines, said
    return json.loads(lines[0].removeprefix("TOLD "))


async def test_the_makers_library_reads_and_moves_dynamixels(emulated, bench, missing):
    if importlib.util.find_spec("dynamixel_sdk") is None:
        missing("dynamixel-sdk, the maker's client, is not installed")
    servos = tuple({"id": i + 1, "zero": 2048.0} for i in range(len(bench.axes)))
    async with emulated("dynamixel", servos=servos, bandwidth_hz=8.0) as device:
        told = await told_by(DYNAMIXEL, device.endpoint["pty"])
    assert told["ping"] == [[1020, 0, 0], [1020, 0, 0]]
    assert told["nobody"][0] != 0
    assert told["delay"] == [250, 0, 0]
    assert told["hole"][1:] == [0, 7]
    assert told["read only"] == [0, 7]
    assert told["too short"] == [0, 5]
    assert told["range"] == [0, 4]
    assert told["torque"] == [[0, 0], [0, 0]]
    assert told["locked"] == [0, 7]
    assert (told["sync write"], told["sync read"]) == (0, 0)
    assert told["moved"] == pytest.approx([100, 100], abs=10)
    assert 90 <= (told["ticks"][1] - told["ticks"][0]) % 32768 < 5000
    assert told["bulk read"] == [0, 120, 35]
    assert told["watchdog"] == [[0, 0], [5, 0, 0]]
    assert told["fired"] == [255, 0, 0]
    assert told["refused"] == [0, 4]
    assert told["reboot"] == [[0, 0], [0, 0, 0], [0, 0, 0]]


async def test_another_library_reads_and_moves_feetechs(emulated, bench, missing):
    if importlib.util.find_spec("scservo_sdk") is None:
        missing("feetech-servo-sdk, an independent client, is not installed")
    servos = tuple({"id": i + 1} for i in range(len(bench.axes)))
    async with emulated("feetech", servos=servos, bandwidth_hz=8.0) as device:
        told = await told_by(FEETECH, device.endpoint["pty"])
    assert [answer[1] for answer in told["ping"]] == [0, 0]
    assert [answer[0] for answer in told["ping"]] == [777, 777]
    assert told["torque"] == [[0, 0], [0, 0]]
    assert (told["sync write"], told["sync read"]) == (0, 0)
    assert told["moved"] == pytest.approx([50, 50], abs=5)
