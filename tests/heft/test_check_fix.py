"""`heft check --fix`: the map that it writes makes of a log what the doctor took for healthy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from heft.commands import check
from heft.daq.recording import Recording
from heft.identify import Robot
from heft.identify.data.recorded_robot import robot_of
from heft.identify.diagnosis.cure import cured
from heft.identify.diagnosis.finding import Finding
from heft.identify.diagnosis.log import Log
from heft.identify.diagnosis.recorded_log import recorded_log
from heft.importing import import_files
from heft.main import main

TURN = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
OTHER = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
#: The columns stand in another order than the robot's joints, as whole arrays, with a number for each.
MAP = {
    "joints": ["elbow_joint", "shoulder_joint"],
    "time": {"column": "t", "unit": "ms"},
    "position": {"columns": ["q"], "unit": "deg", "gear": [2.0, 3.0], "offset": [0.1, -0.2]},
    "velocity": {"columns": ["dq"], "sign": [1.0, -1.0]},
    "torque": {"columns": ["tau"], "unit": "kN m", "scale": [1.0, 2.0], "offset": 0.5},
    "wrench": {"columns": ["w"], "reaction": True, "rotation": TURN},
}
FIXES: dict[str, dict[str, Any]] = {
    "order": {"torque": {"columns": ["elbow_joint", "shoulder_joint"]}},
    "order and gear": {"velocity": {"columns": ["elbow_joint", "shoulder_joint"], "gear": [2.0, 5.0]}},
    "joints": {"joints": ["elbow_joint", "shoulder_joint"]},
    "scale of one": {"torque": {"scale": [1.0, 0.25]}},
    "sign of one": {"torque": {"sign": [-1.0, 1.0]}},
    "gear and offset": {"position": {"gear": [4.0, 1.0], "offset": [0.3, 0.0]}},
    "unit of another": {"position": {"unit": "deg"}},
    "unit of SI": {"velocity": {"unit": "deg/s"}},
    "unit of torque": {"torque": {"unit": "N mm"}},
    "stamps": {"time": {"unit": "ms"}},
    "reaction": {"wrench": {"reaction": True}},
    "rotation": {"wrench": {"rotation": OTHER}},
}


def log_of(file: Path, into: Path, urdf: Path, mapped: Path) -> Log:
    import_files([file], into, robot=urdf, map_file=mapped)
    recording = Recording.open(into)
    return recorded_log(recording, robot_of(recording))


@pytest.mark.parametrize("name", FIXES)
def test_the_written_map_does_what_the_fix_did(
    name: str, urdf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    file, old, new = (tmp_path / part for part in ("log.npz", "old.yaml", "new.yaml"))
    wide = rng.standard_normal((3, 200, 2))
    np.savez(
        file, t=np.arange(200) * 10.0, q=wide[0], dq=wide[1], tau=wide[2], w=rng.standard_normal((200, 6))
    )
    old.write_text(yaml.safe_dump(MAP), encoding="utf-8")
    before = log_of(file, tmp_path / "before.mcap", urdf, old)
    finding = Finding("one", "fatal", "", "", "", "", FIXES[name], 1.0)
    monkeypatch.setattr(check, "diagnose", lambda log, robot: [finding])
    assert main(["check", str(file), "--robot", str(urdf), "--map", str(old), "--fix", str(new)]) == 1
    again, wanted = log_of(file, tmp_path / "again.mcap", urdf, new), cured(before, FIXES[name])
    for key, table in wanted.tables.items():
        np.testing.assert_allclose(again.tables[key].values, table.values, rtol=1e-9, atol=1e-12, err_msg=key)
        np.testing.assert_allclose(np.ptp(again.tables[key].t), np.ptp(table.t), rtol=1e-6)


#: What was done to the columns t, q, dq, tau (N, 7) of a healthy log.
FAULTS: dict[str, Callable[[Any], Any]] = {
    "degrees": lambda table: table * [1, *[57.29577951308232] * 4, 1, 1],
    "sign of all torques": lambda table: table * [1, 1, 1, 1, 1, -1, -1],
    "sign of one torque": lambda table: table * [1, 1, 1, 1, 1, 1, -1],
    "N mm": lambda table: table * [1, 1, 1, 1, 1, 1e3, 1e3],
    "torques of another order": lambda table: table[:, [0, 1, 2, 3, 4, 6, 5]],
    "velocities of another order": lambda table: table[:, [0, 1, 2, 4, 3, 5, 6]],
    "velocities in rpm": lambda table: table * [1, 1, 1, 9.549296585513721, 9.549296585513721, 1, 1],
    "milliseconds": lambda table: table * [1e3, 1, 1, 1, 1, 1, 1],
}


@pytest.mark.slow
@pytest.mark.parametrize("arrays", [False, True], ids=["columns", "arrays"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_log_is_cured_by_its_own_fix(
    fault: str, arrays: bool, urdf: Path, table: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the sick log to the healthy answer, as a user goes; the joints of arrays are in the robot's order."""
    sick = FAULTS[fault](table)
    file, old, new, into = (tmp_path / part for part in ("log.npz", "old.yaml", "new.yaml", "log.mcap"))
    names = ("q", "dq", "tau")
    parts = {name: sick[:, k : k + 2] for name, k in zip(names, (1, 3, 5), strict=True)}
    if not arrays:
        parts = {f"{name}{k}": part[:, k] for name, part in parts.items() for k in range(2)}
    np.savez(file, t=sick[:, 0], **parts)
    mapped: dict[str, Any] = {
        key: {"columns": [name] if arrays else [f"{name}0", f"{name}1"]}
        for key, name in zip(("position", "velocity", "torque"), names, strict=True)
    }
    mapped |= {"joints": ["shoulder_joint", "elbow_joint"], "time": {"column": "t", "unit": "s"}}
    units = {"position": "rad", "velocity": "rad/s", "torque": "N m"}
    mapped = {key: {**part, "unit": units[key]} if key in units else part for key, part in mapped.items()}
    old.write_text(yaml.safe_dump(mapped), encoding="utf-8")
    main(["check", str(file), "--robot", str(urdf), "--map", str(old), "--fix", str(new), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["fix"] == str(new), said["findings"]
    assert "np.float64" not in json.dumps(said) + new.read_text(encoding="utf-8")
    assert main(["import", str(file), "--robot", str(urdf), "--map", str(new), "--as", str(into)]) == 0
    capsys.readouterr()
    healthy = Robot.load(urdf, locked=["finger_joint"])
    log = recorded_log(Recording.open(into), healthy)
    for key, k in (("q", 1), ("tau", 5)):
        np.testing.assert_allclose(log.tables[key].values, table[:, k : k + 2], rtol=1e-6, atol=1e-9)
    assert main(["identify", str(into), "--out", str(tmp_path / "out"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["total_mass"] == pytest.approx(3.1, rel=0.1)
