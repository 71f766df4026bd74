"""Gains written into a robot's file: nothing else of it changes, and it is written whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from heft.daq.config.reader import with_values
from heft.daq.config.robot import load_robot
from heft.daq.config.robot_gains import write_gains
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError

TEXT = """\
# an arm
name: arm
dh:
  - {alpha: 0.0, a: 0.0, d: 0.3}
  - {alpha: 1.57, a: 0.0, d: 0.0}   # elbow
joints:
  shoulder:  # the big one
    # limits by the data sheet
    position: [-2.0, 2.0]
    velocity: 2.0
    acceleration: 10.0
    torque: 77.0
  elbow: {position: [-2.0, 2.0], velocity: 2.0, acceleration: 10.0, torque: 20.0, gain: 1.1}  # small
"""


def test_values_are_set_and_everything_else_stays() -> None:
    told = with_values(
        TEXT,
        {
            ("joints", "shoulder", "gain"): 1.0512345678,
            ("joints", "elbow", "gain"): 1e-7,
            ("joints", "elbow", "gain_std"): 0.01,
        },
    )
    assert "    gain: 1.05123\n    position: [-2.0, 2.0]\n    velocity" in told
    assert "elbow: {gain_std: 0.01, position: [-2.0, 2.0]" in told
    assert "gain: 1.0e-07}  # small" in told
    assert (
        told.replace("    gain: 1.05123\n", "").replace("gain_std: 0.01, ", "").replace("1.0e-07", "1.1")
        == TEXT
    )
    assert with_values(TEXT.replace("\n", "\r\n"), {("joints", "shoulder", "gain"): 2.0}).count("\r\n") == 14


def test_what_cannot_be_set_is_said() -> None:
    with pytest.raises(ConfigError, match=r"joints\.wrist\.gain: there is no joints\.wrist"):
        with_values(TEXT, {("joints", "wrist", "gain"): 1.0})
    shared = TEXT.replace("shoulder:", "shoulder: &one").split("  elbow")[0] + "  elbow: *one\n"
    with pytest.raises(ConfigError, match="alias"):
        with_values(shared, {("joints", "shoulder", "gain"): 1.0, ("joints", "elbow", "gain"): 1.0})


def test_gains_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(TEXT)
    write_gains(path, path, {"shoulder": (1.05, 0.01), "elbow": (0.9, 0.02)})
    joints = load_robot(path).joints
    assert [(joint.gain, joint.gain_std) for joint in joints.values()] == [(1.05, 0.01), (0.9, 0.02)]
    assert "# limits by the data sheet" in path.read_text()
    write_gains(path, path, {"shoulder": (1.06, 0.02)})
    assert load_robot(path).joints["shoulder"].gain == 1.06
    assert [one.name for one in tmp_path.iterdir()] == ["arm.yaml"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(TEXT)
    with pytest.raises(ConfigError, match="gain_std"):
        write_gains(path, path, {"shoulder": (1.05, 1.5)})
    assert path.read_text() == TEXT
    assert [one.name for one in tmp_path.iterdir()] == ["arm.yaml"]
    with pytest.raises(ConfigError, match="cannot be written"):
        write_gains(path, tmp_path / "nowhere" / "arm.yaml", {"shoulder": (1.05, 0.01)})
    shipped = CONFIGS / "robots" / "wam7.yaml"
    with pytest.raises(ConfigError, match="ships"):
        write_gains(shipped, shipped, {"joint1": (1.05, 0.01)})
    with pytest.raises(ConfigError, match="put it beside"):
        write_gains(shipped, tmp_path / "wam7.yaml", {"joint1": (1.05, 0.01)})
    shutil.copy(CONFIGS / "robots" / "wam7.xml", tmp_path)
    write_gains(shipped, tmp_path / "wam7.yaml", {"joint1": (1.05, 0.01)})
    assert load_robot(tmp_path / "wam7.yaml").joints["joint1"].gain == 1.05
