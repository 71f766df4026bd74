"""Emulated drives and a wrist sensor that outlive the host's program, as on a real rig.

It is the process in which every emulated rig has its devices; here the campaign has started it, not the session.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fault_campaign.motion import Setup
from fault_campaign.plant_log import PlantLog
from fault_campaign.trial import Plant
from heft.daq.config.rig import load_rig
from heft.daq.emulation.process import order_of

__all__ = ["Cell"]


class Cell:
    """`with Cell(setup)`: the emulated part of a rig runs elsewhere, and the rig's file becomes one of real devices."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Cell:
        setup, trial = self._setup, self._setup.trial
        setup.write()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "heft.daq.emulation.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(order_of(load_rig(trial.folder / "rig.yaml"), trial.seed))
        told = self._answer()
        for key in ("emulation", "simulation"):
            del setup.rig[key]
        for device, endpoint in told["endpoints"].items():
            options = setup.rig["devices"][device]
            options.update({"port": endpoint.pop("pty")} if "pty" in endpoint else endpoint)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is None:
            return
        with suppress(BrokenPipeError), self._process:  # which closes the pipes, and waits
            assert self._process.stdin is not None
            self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(10.0)
            self._process.kill()

    def plant(self) -> Plant:
        """What the arm did up to now."""
        assert self._process is not None
        assert self._process.stdin is not None
        path = self._setup.trial.folder / "cell.npz"
        self._process.stdin.write(json.dumps({"do": "log", "path": str(path)}).encode() + b"\n")
        self._answer()
        plant = PlantLog.read(path)
        assert plant is not None
        return plant

    def _answer(self) -> Mapping[str, Any]:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        told: dict[str, Any] = json.loads(line) if line else {"error": "it has ended"}
        if "error" in told:
            raise RuntimeError(f"the cell: {told['error']}")
        return told
