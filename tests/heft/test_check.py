"""`heft check` of robots' files: findings as JSON, a page, exit codes."""

import json
from pathlib import Path

import numpy as np
import pytest

from heft.exit_codes import ExitCode
from heft.main import main

CONFIGS = Path(__file__).parents[2] / "configs"
URDF = """<robot name="two"><link name="base"/>
<link name="a"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-170" upper="170" velocity="2" effort="10"/></joint></robot>"""


def test_a_healthy_robot_has_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(CONFIGS / "robots" / "wam7.yaml"), "--json"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_an_inconsistent_urdf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page = tmp_path / "two.urdf", tmp_path / "two.html"
    path.write_text(URDF)
    assert main(["check", str(path), "--json", "--html", str(page)]) == ExitCode.DONE
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {one["id"] for one in found} == {"model_inconsistent", "model_limits"}
    assert set(found[0]) == {"id", "severity", "where", "evidence", "meaning", "remedy", "fix"}
    assert "model_inconsistent" in page.read_text()


@pytest.mark.parametrize("command", ["check", "identify", "payload", "import", "replay"])
@pytest.mark.parametrize("name", ["nowhere.mcap", "nowhere.csv"])
def test_data_that_are_not_there(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, name]) == ExitCode.FAILED
    err = capsys.readouterr().err
    assert f"{name}: cannot be read: No such file" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("suffix", ["yaml", "urdf", "xml"])
def test_a_robot_that_is_not_there_is_configuration(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"nowhere.{suffix}"]) == ExitCode.USAGE
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "identify", "import"])
def test_an_empty_file_is_called_empty_by_all(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.npz"
    path.touch()
    assert main([command, str(path)]) == ExitCode.FAILED
    err = capsys.readouterr().err
    assert "the file is empty; give CSV, NPZ" in err
    assert "recorder" not in err
    np.savez(path)
    assert main([command, str(path)]) == ExitCode.FAILED
    err = capsys.readouterr().err
    assert err.count(str(path)) == 1
    assert "no arrays of numbers with one row per sample" in err


def test_a_file_that_is_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "noise.mcap"
    path.write_bytes(b"\x00" * 64)
    assert main(["check", str(path), "--fix", str(tmp_path / "map.yaml")]) == ExitCode.FAILED
    assert not (tmp_path / "map.yaml").exists()
