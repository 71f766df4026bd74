"""Strangers at the ports of a host (`benchmarks/wires.py`, smaller): nothing is lost, let in, stopped or played."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from heft.daq.bus.keyring import Keyring

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "wires.py"


@pytest.mark.slow
@pytest.mark.alone
async def test_strangers_at_the_ports_of_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("wires_benchmark", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    wires = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "wires_benchmark", wires)
    spec.loader.exec_module(wires)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    Keyring.of_user().new()
    found = await wires.siege(tmp_path, 300, 200_000_000)
    assert found.thrown >= 200_000_000
    assert found.lost == 0
    assert found.stops == []
    assert found.played == []
    assert set(found.told_s) == {"telemetry", "following", "stop", "control"}
    assert max(found.told_s.values()) < float("inf")  # each was told
