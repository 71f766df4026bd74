"""The client library `ur_rtde`, written by others, reads and moves the emulated controller on its own ports."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import json
import os
import sys

import numpy as np
import pytest

READ = """
import json, sys, time
from rtde_receive import RTDEReceiveInterface

receive = RTDEReceiveInterface(sys.argv[1], 500.0)
rows, last = [], None
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    stamp = receive.getTimestamp()
    if stamp != last:
        rows.append([stamp, *receive.getActualQ(), *receive.getFtRawWrench()])
        last = stamp
    time.sleep(0.0005)
print("TOLD", json.dumps({"rows": rows, "mode": receive.getSafetyMode(), "robot": receive.getRobotMode(),
                          "connected": receive.isConnected()}))
receive.disconnect()
"""

MOVE = """
import json, sys, time
from dashboard_client import DashboardClient
from rtde_control import RTDEControlInterface
from rtde_receive import RTDEReceiveInterface

dashboard = DashboardClient(sys.argv[1])
dashboard.connect()
told = {"remote": dashboard.isInRemoteControl(), "safety": dashboard.safetystatus(),
        "version": dashboard.polyscopeVersion()}
control = RTDEControlInterface(sys.argv[1], 500.0)  # sends a program of its own, of 1100 lines
told["running"] = control.isProgramRunning()
told["payload"] = control.setPayload(1.5, [0.0, 0.0, 0.1])
receive = RTDEReceiveInterface(sys.argv[1])
told["moved"] = control.moveJ([0.2, -1.1, 1.0, -1.0, -1.5, 0.1], 0.8, 1.0)
told["after move"] = receive.getActualQ()
for k in range(200):
    period = control.initPeriod()
    control.servoJ([0.2 + 0.0005 * k, -1.1, 1.0, -1.0, -1.5, 0.1], 0.5, 0.5, 0.002, 0.1, 300)
    control.waitPeriod(period)
control.servoStop()
time.sleep(0.5)
told["after servo"] = receive.getActualQ()
control.speedJ([0.0, 0.0, 0.0, 0.0, 0.0, 0.2], 2.0)
time.sleep(1.0)
told["speed"] = receive.getActualQd()
control.speedStop()
time.sleep(0.5)
told["after speed"] = receive.getActualQd()
told["still running"] = control.isProgramRunning()
control.stopScript()
print("TOLD", json.dumps(told))
"""

HOSTS = itertools.count()


def own_host() -> str:
    """It knows no ports but the controller's: each test has an address of its own."""
    return f"127.{77 + next(HOSTS)}.{os.getpid() // 250 % 250}.{1 + os.getpid() % 250}"


async def told_by(program: str, host: str, *more: str) -> dict:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, host, *more, stdout=-1, stderr=-2
    )
    output, _ = await process.communicate()
    said = output.decode()
    lines = [line for line in said.splitlines() if line.startswith("TOLD ")]
    assert lines, said
    return json.loads(lines[0].removeprefix("TOLD "))


@pytest.fixture(autouse=True)
def _library(missing):
    if importlib.util.find_spec("rtde_receive") is None:
        missing("ur_rtde, an independent client, is not installed")


@pytest.mark.slow
async def test_the_receive_interface_reads_it_for_a_minute(emulated, bench, quiet):
    host = own_host()
    async with emulated("ur_rtde", host=host, **quiet), asyncio.timeout(100):
        told = await told_by(READ, host, "60")
    rows = np.array(told["rows"])
    assert (told["robot"], told["mode"], told["connected"]) == (7, 1, True)  # running, normal
    assert len(rows) > 5000
    steps = np.diff(rows[:, 0])
    assert np.allclose(np.round(steps / 0.002), steps / 0.002, atol=0.01)
    assert rows[-1, 0] - rows[0, 0] == pytest.approx(60.0, abs=2.0)
    truth = bench.wrench(np.array([bench.now()]), 0.0)[0]
    assert rows[-1, 7:] == pytest.approx(truth, abs=1.0)


@pytest.mark.slow
async def test_its_control_interface_moves_the_arm_with_a_program_of_its_own(emulated, bench, quiet):
    host = own_host()
    async with emulated("ur_rtde", host=host, **quiet) as controller, asyncio.timeout(60):
        told = await told_by(MOVE, host)
        assert controller.controller.load[0] == 1.5
    assert (told["remote"], told["running"], told["still running"]) == (True, True, True)
    assert told["safety"] == "Safetystatus: NORMAL"
    assert (told["payload"], told["moved"]) == (True, True)
    assert told["after move"] == pytest.approx([0.2, -1.1, 1.0, -1.0, -1.5, 0.1], abs=2e-3)
    assert told["after servo"][0] == pytest.approx(0.3, abs=0.02)
    assert told["speed"] == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.0, 0.2], abs=0.02)
    assert told["after speed"] == pytest.approx([0.0] * 6, abs=0.02)
