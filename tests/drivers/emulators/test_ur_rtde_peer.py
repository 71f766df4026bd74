"""The client library `ur_rtde`, written by others, reads the emulated controller on its own port."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys

import numpy as np
import pytest

PROGRAM = """
import json, sys, time
from rtde_receive import RTDEReceiveInterface

receive = RTDEReceiveInterface(sys.argv[1], 500.0)
rows, last = [], None
end = time.monotonic() + 1.0
while time.monotonic() < end:
    stamp = receive.getTimestamp()
    if stamp != last:
        rows.append([stamp, *receive.getActualQ(), *receive.getFtRawWrench()])
        last = stamp
    time.sleep(0.0005)
print("ROWS", json.dumps({"rows": rows, "mode": receive.getSafetyMode(), "robot": receive.getRobotMode()}))
receive.disconnect()
"""


@pytest.mark.slow
async def test_the_receive_interface_reads_it(emulated, bench, quiet, missing):
    if importlib.util.find_spec("rtde_receive") is None:
        missing("ur_rtde, an independent client, is not installed")
    host = f"127.77.{os.getpid() // 250 % 250}.{1 + os.getpid() % 250}"  # it knows no port but 30004
    async with emulated("ur_rtde", host=host, **quiet), asyncio.timeout(60):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, host, stdout=-1, stderr=-2
        )
        output, _ = await process.communicate()
    said = output.decode()
    (line,) = [line for line in said.splitlines() if line.startswith("ROWS ")]
    told = json.loads(line.removeprefix("ROWS "))
    rows = np.array(told["rows"])
    assert (told["robot"], told["mode"]) == (7, 1)  # running, normal
    assert len(rows) > 100
    steps = np.diff(rows[:, 0])
    assert np.allclose(np.round(steps / 0.002), steps / 0.002, atol=0.01)
    truth = bench.wrench(np.array([bench.now()]), 0.0)[0]
    assert rows[-1, 7:] == pytest.approx(truth, abs=1.0)
