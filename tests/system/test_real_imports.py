"""Real recordings of other people, imported as they are and identified: from file to report by one command."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from heft.daq.recording import Recording
from heft.main import main

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("HEFT_DATA", ROOT.parent / "shared" / "data"))
ROBOTS = ROOT / "configs" / "robots"
#: File, robot, rows, columns of positions and torques, and the error on unseen motion that it must stay below.
RECORDINGS = [
    ("panda_gaz.npz", ROBOTS / "panda.yaml", 20544, "q", "tau", 0.02),
    ("staubli_tx40.npz", ROBOTS / "tx40.yaml", 45000, "q", "tau", 0.1),
    ("kinova_gen3_chiha.npz", DATA / "kinova_gen3_chiha.urdf", 48264, "q", "tau_cur", 0.2),
    ("kr300_weigand.npz", ROBOTS / "kr300.yaml", 7503, "q_motor", "tau", 0.3),
    ("tiago_arm.npz", DATA / "tiago_arm.urdf", 8022, "q", "effort", 1.0),
    ("ur10_unisa_exciting.db3", DATA / "ur10_unisa.urdf", 3441, "position", "effort", 0.06),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "robot", "rows", "position", "torque", "most"), RECORDINGS, ids=[one[0] for one in RECORDINGS]
)
def test_from_file_to_report(
    name: str,
    robot: Path,
    rows: int,
    position: str,
    torque: str,
    most: float,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not (DATA / name).is_file():
        pytest.skip(f"no {name} in {DATA}; set HEFT_DATA to the folder of the recordings")
    code = main(
        ["identify", str(DATA / name), "--robot", str(robot), "--out", str(tmp_path / "out"), "--json"]
    )
    said = json.loads(capsys.readouterr().out)
    assert code in (0, 1)
    assert said["relative_error"]["validation"] < most
    assert (tmp_path / "out" / "report.html").is_file()
    recording = Recording.open(tmp_path / "out" / f"{Path(name).stem}.imported.mcap")
    note = recording.metadata["heft.import"]
    mapped = json.loads(note["map"])
    assert (mapped["position"]["columns"], mapped["torque"]["columns"]) == ([position], [torque])
    assert json.loads(note["rows"]) == {"arm.joint_states": rows}
    ignored = {
        one["column"]: one["reason"] for one in json.loads(note["columns"]) if one["meaning"] == "ignored"
    }
    if "tau_model" in ignored:
        assert "model" in ignored["tau_model"]
