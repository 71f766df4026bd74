"""The lock of a rig: one process at a time, told who holds it, free when that is gone."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from heft.daq import rig_lock
from heft.daq.clock import RealClock
from heft.daq.config.rig import load_rig
from heft.daq.rig import Rig
from heft.daq.rig_lock import locked
from heft.drivers.errors import ConnectError
from heft.main import main

RIGS = Path(__file__).parents[3] / "configs/rigs"
HOLD = """
import sys, time
from pathlib import Path
from heft.daq import rig_lock
from heft.daq.config.rig import load_rig
rig_lock._FOLDERS = (Path(sys.argv[1]),)
rig = load_rig(sys.argv[2])
with rig_lock.locked({n: d.address for n, d in rig.devices.items() if d.address}, "another session"):
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(rig_lock, "_FOLDERS", (tmp_path,))
    return tmp_path


@pytest.mark.parametrize("name", ["example_cia402", "example_ati_rdt", "example_bota_serial"])
def test_a_rig_in_use_is_refused_until_its_process_is_gone(name: str, folder: Path) -> None:
    path = RIGS / f"{name}.yaml"
    with subprocess.Popen([sys.executable, "-c", HOLD, folder, path], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"locked\n"
            config = load_rig(path)
            with pytest.raises(
                ConnectError, match=rf"in use by another session \(process {other.pid}, user"
            ) as info:
                asyncio.run(_enter(Rig(config, RealClock())))
            assert "heft stop" in str(info.value)
            assert main(["devices", "probe", str(path)]) == 4
        finally:
            other.kill()  # without a chance to clean up
            other.wait()
    addresses = {n: d.address for n, d in config.devices.items() if d.address}
    with locked(addresses, "the next"):
        pass
    assert not list(folder.glob("heft-*"))


async def _enter(rig: Rig) -> None:
    async with rig:
        pass


def test_devices_on_one_bus_are_one_address_and_another_bus_is_free(folder: Path) -> None:
    bus = ("CAN", "socketcan", "can0")
    with locked({"arm": bus, "encoders": bus}, "one"):
        assert len(list(folder.glob("heft-can-socketcan-can0-*.lock"))) == 1
        with (
            pytest.raises(ConnectError, match="arm: CAN socketcan can0 is in use by one"),
            locked({"arm": bus}, "two"),
        ):
            pass
        with locked({"arm": ("CAN", "socketcan", "can1")}, "two"):
            pass


def test_what_is_simulated_or_emulated_is_not_locked() -> None:
    for name in ("sim_wam7", "emulated_wam7"):
        rig = load_rig(RIGS / f"{name}.yaml")
        assert rig.real == ()
