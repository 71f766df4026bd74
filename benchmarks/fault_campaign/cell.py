"""Emulated drives and a wrist sensor in a process of their own, as on a real rig: they outlive the host's program."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from fault_campaign.isolation import Child, start
from fault_campaign.motion import Setup
from fault_campaign.plant_log import PlantLog, write
from fault_campaign.trial import Plant
from heft.daq.clock import RealClock
from heft.daq.config.rig import load_rig
from heft.daq.rig import Rig
from heft.drivers import registry
from heft.priority import ahead_of_others

__all__ = ["Cell"]


class Cell:
    """`with Cell(setup)`: the emulated part of a rig runs elsewhere, and the rig's file becomes one of real devices."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._folder = setup.trial.folder / "cell"
        self._child: Child | None = None

    def __enter__(self) -> Cell:
        setup, trial = self._setup, self._setup.trial
        self._folder.mkdir()
        emulation = setup.rig.pop("emulation")
        for device, options in emulation["devices"].items():
            if options.get("interface") == "virtual":
                options["interface"] = "udp_multicast"
            (self._folder / f"{device}.json").write_text(json.dumps(options), encoding="utf-8")
        setup.write()  # with its simulation, which the cell takes
        (self._folder / "rig.yaml").write_bytes((trial.folder / "rig.yaml").read_bytes())
        for name in ("robot.yaml", "wam7.xml"):
            (self._folder / name).symlink_to(trial.folder / name)
        self._child = start(self._folder, str(trial.seed), program=_serve)
        if not self._child.wait_for("ready"):
            raise RuntimeError(f"the cell did not start: {self._child.err[-300:]}")
        del setup.rig["simulation"]
        for device, endpoint in json.loads(self._child.out).items():
            options = setup.rig["devices"][device]
            options.update({"port": endpoint.pop("pty")} if "pty" in endpoint else endpoint)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._child is not None and not self._child.ended():
            self._child.signal(signal.SIGTERM)
            self._child.finish(10.0)

    def plant(self) -> Plant:
        """What the arm did up to now."""
        assert self._child is not None
        path = self._child.plant_file
        path.unlink(missing_ok=True)
        self._child.signal(signal.SIGUSR1)
        done = path.with_suffix(".done")
        for _ in range(1000):
            if done.exists():
                done.unlink()
                break
            time.sleep(0.01)
        plant = PlantLog.read(path)
        assert plant is not None
        return plant


def _serve(arguments: list[str]) -> int:
    """Be the devices until SIGTERM; their endpoints on standard output."""
    asyncio.run(_devices(int(arguments[0])))
    return 0


async def _devices(seed: int) -> None:
    folder = Path.cwd()
    config = load_rig(folder / "rig.yaml")
    rig = Rig(config, RealClock(), seed)
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    endpoints: dict[str, Any] = {}
    plants = folder / "0.npz"

    def log() -> None:
        write(plants, rig.world)
        plants.with_suffix(".done").touch()

    loop.add_signal_handler(signal.SIGTERM, ended.set)
    loop.add_signal_handler(signal.SIGUSR1, log)
    emulators = []
    for name in config.devices:
        options = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        kind = config.devices[name].kind
        chosen = registry.emulator_options(kind).model_validate(options)
        emulators.append(await registry.create_emulator(kind, name, chosen, rig.world).__aenter__())
        endpoints[name] = dict(emulators[-1].endpoint)
    print(json.dumps(endpoints), flush=True)
    os.write(2, b"ready\n")
    try:
        with ahead_of_others():
            await ended.wait()
    finally:
        for emulator in emulators:
            await emulator.__aexit__()
