"""The process of an emulated cell: it comes and goes with the program that reads its devices, and tells what it did."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from heft.daq.clock import RealClock
from heft.daq.config import load_rig
from heft.daq.config.rig import RigConfig
from heft.daq.probe import probe
from heft.daq.rig import Rig
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.plant.faults import Silence

ROBOT = Path(__file__).parents[3] / "configs" / "robots" / "ur10e.yaml"
RIG = f"""
name: bench
robot: {ROBOT}
simulation: {{step_s: 0.004, posture: [0.0, -1.57, 1.2, -1.2, -1.57, 0.0]}}
devices:
  arm: {{kind: ur_rtde, host: 192.0.2.1, rate_hz: 125, timeout_s: 0.5}}
emulation:
  devices:
    arm: {{port: 0, script_port: 0, dashboard_port: 0, realtime_port: null, gripper_port: null, servo_hz: 250}}
"""
HOLD = """
import asyncio, sys
from heft.daq.clock import RealClock
from heft.daq.config import load_rig
from heft.daq.rig import Rig

async def hold():
    async with Rig(load_rig(sys.argv[1]), RealClock()) as rig:
        print(rig.cell.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(hold())
"""


@pytest.fixture
def rig(tmp_path: Path) -> Callable[..., RigConfig]:
    """The rig above, with pieces of it replaced."""

    def load(*changes: tuple[str, str]) -> RigConfig:
        text = RIG
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "rig.yaml").write_text(text)
        return load_rig(tmp_path / "rig.yaml")

    return load


def alive(pid: int) -> bool:
    """Whether there is such a process; one that nobody has waited for is none."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


async def gone(pid: int) -> bool:
    """Whether it ends within some seconds."""
    for _ in range(500):
        if not alive(pid):
            return True
        await asyncio.sleep(0.02)
    return False


async def test_the_plant_is_elsewhere_and_ends_with_the_rig(rig, tmp_path):
    async with Rig(rig(), RealClock()) as open_rig:
        assert open_rig.world is None
        assert open_rig.cell is not None
        open_rig.cell.log_to = tmp_path / "plant.npz"
        pid = open_rig.cell.pid
        assert pid not in (0, os.getpid())
        assert (await probe(open_rig, 0.1))[0].identity.vendor == "Universal Robots"
        assert open_rig.truth is None  # it is told when it has ended
    assert not alive(pid)
    assert set(open_rig.truth["clocks"]) == {"arm"}
    with np.load(tmp_path / "plant.npz") as plant:
        assert int(plant["start_ns"]) == open_rig.cell.start_ns
        np.testing.assert_allclose(plant["q"][-1], [0.0, -1.57, 1.2, -1.2, -1.57, 0.0], atol=1e-3)


async def test_who_is_killed_leaves_no_cell_behind(rig, tmp_path):
    rig()
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLD, tmp_path / "rig.yaml", stdout=asyncio.subprocess.PIPE
    )
    assert host.stdout is not None
    pid = int(await host.stdout.readline())
    assert alive(pid)
    host.kill()
    await host.wait()
    assert await gone(pid)


async def test_the_terminals_ctrl_c_is_not_for_the_devices(rig):
    async with Rig(rig(), RealClock()) as open_rig:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(open_rig.cell.pid, number)
        assert os.getsid(open_rig.cell.pid) != os.getsid(0)
        (found,) = await probe(open_rig, 0.2)
    assert found.counters.received
    assert open_rig.truth is not None


async def test_a_cell_that_dies_is_named(rig):
    async with Rig(rig(), RealClock()) as open_rig:
        os.kill(open_rig.cell.pid, signal.SIGKILL)
        with pytest.raises(DeviceLost, match=r"the process of the emulated devices has ended: by SIGKILL"):
            await open_rig.cell.watch()
    assert open_rig.truth is None


async def test_faults_can_be_injected_while_it_runs(rig):
    async with Rig(rig(), RealClock()) as open_rig:
        now_s = (open_rig.drivers["arm"].clock.now_ns() - open_rig.cell.start_ns) * 1e-9
        open_rig.cell.inject(Silence(device="arm", at_s=now_s))
        with pytest.raises(ConnectError, match=r"arm: .*silent"):
            await probe(open_rig, 5.0)


async def test_why_it_does_not_start_is_told(rig):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = rig(("{port: 0", f"{{port: {port}"))
        with pytest.raises(
            ConnectError, match=rf"the emulated devices did not start: .*{port}.* another program"
        ):
            await Rig(config, RealClock()).__aenter__()


async def test_a_log_that_cannot_be_written_costs_the_log_alone(rig, tmp_path):
    async with Rig(rig(), RealClock()) as open_rig:
        open_rig.cell.log_to = tmp_path / "nowhere" / "plant.npz"
    assert set(open_rig.truth["clocks"]) == {"arm"}


async def test_a_cell_that_cannot_read_its_orders_ends(rig):
    """Else it would not hear that who started it has gone."""
    async with Rig(rig(), RealClock()) as open_rig:
        pid = open_rig.cell.pid
        open_rig.cell.inject({"kind": "no such fault"})
        assert await gone(pid)
        with pytest.raises(DeviceLost, match="the process of the emulated devices has ended: exit code 1"):
            await open_rig.cell.watch()
