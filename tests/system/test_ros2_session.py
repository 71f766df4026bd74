"""A session on an arm of ROS 2: moved, recorded and identified over DDS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording
from heft.main import main

pytest.importorskip("cyclonedds")
pytestmark = [pytest.mark.slow, pytest.mark.alone]


def test_an_excitation_over_dds_is_identified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = yaml.safe_load((CONFIGS / "sessions/emulated_ros2.yaml").read_text(encoding="utf-8"))
    session["rig"] = str(CONFIGS / "rigs/emulated_ros2.yaml")
    session["steps"] = session["steps"][:1]
    path = tmp_path / "session.yaml"
    path.write_text(yaml.safe_dump(session), encoding="utf-8")
    assert main(["run", str(path), "--out", str(tmp_path / "out"), "--json", "--seed", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["state"] == "done"
    streams = Recording.open(tmp_path / "out" / "emulated_ros2.mcap").streams
    assert streams["arm.motion"].tick_hz == 1e9
    assert {"arm.motion", "arm.torque", "arm.played", "arm.sent"} <= streams.keys()
    result = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert result["relative_error"]["fit"] < 0.05
