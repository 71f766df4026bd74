"""A WAM of two drive devices with own clocks, and encoders on links behind joints that bend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from heft import Dataset, Robot, fit
from heft.daq.recording import Recording
from heft.main import main

CONFIGS = Path(__file__).parents[2] / "configs"
STIFFNESS = np.array([20000, 25000, 10000, 5000, 400, 400, 60])  # of the rig's file
SWAY = {"name": "sway", "use": "identification", "move": {"to": [0.3, -0.3, 0.2, 1.6, -1.6, 0.2, 0.2]}}


def run(
    folder: Path, steps: list[dict[str, Any]], faults: tuple[dict[str, Any], ...] = ()
) -> tuple[int, Path]:
    rig = yaml.safe_load((CONFIGS / "rigs" / "sim_wam7_parts.yaml").read_text())
    rig["robot"] = str(CONFIGS / "robots" / "wam7.yaml")
    rig["simulation"]["faults"] = list(faults)
    (folder / "rig.yaml").write_text(yaml.safe_dump(rig))
    (folder / "session.yaml").write_text(yaml.safe_dump({"name": "parts", "rig": "rig.yaml", "steps": steps}))
    arguments = ["run", str(folder / "session.yaml"), "--speed", "max", "--no-identify"]
    return main([*arguments, "--out", str(folder / "out")]), folder / "out" / "parts.mcap"


def test_two_devices_move_as_one_arm_and_are_read_as_one(tmp_path: Path) -> None:
    code, file = run(tmp_path, [SWAY])
    assert code == 0
    recording = Recording.open(file)
    shoulder, wrist = (recording.columns(f"{name}.motion") for name in ("shoulder", "wrist"))
    sent = recording.columns("shoulder_wrist.sent")
    assert np.allclose(sent.quantity("position")[-1], SWAY["move"]["to"])
    end = np.concatenate([one.quantity("position")[-200] for one in (shoulder, wrist)])
    assert np.allclose(end, SWAY["move"]["to"], atol=0.01)
    data = Dataset.from_recording(recording, Robot.load(CONFIGS / "robots" / "wam7.yaml"))
    assert data.motion_stream == "shoulder.motion+wrist.motion"
    assert data.torque_stream == "shoulder.current+wrist.current"
    assert data.deflection is not None
    assert data.deflection.stream == "encoders.position"
    assert data.motor is not None
    assert 1e-4 < np.abs(data.q - data.motor).max() < 0.01  # gravity bends the joints


@pytest.mark.parametrize(("device", "joint"), [("wrist", "joint6"), ("shoulder", "joint2")])
def test_a_fault_of_one_device_stops_the_other(tmp_path: Path, device: str, joint: str) -> None:
    fault = {"kind": "drive_fault", "device": device, "joint": joint, "at_s": 1.0}
    code, file = run(tmp_path, [SWAY], (fault,))
    assert code == 4
    recording = Recording.open(file)
    off = [e.t_ns for e in recording.events if e.name == "drives_off"]
    assert len(off) == 2
    columns = recording.columns("encoders.position")  # who has failed does not tell any more
    still = columns.quantity("position")[columns.host_ns > max(off) + 60_000_000]
    assert len(still) > 20
    assert np.ptp(still, axis=0).max() < 3e-5


@pytest.mark.slow
def test_the_arm_is_identified_from_its_parts_and_its_springs_are_found(tmp_path: Path) -> None:
    session = yaml.safe_load((CONFIGS / "sessions" / "wam7_excitation.yaml").read_text())
    code, file = run(tmp_path, session["steps"][:1])
    assert code == 0
    robot = Robot.load(CONFIGS / "robots" / "wam7.yaml")
    result = fit(robot, Dataset.from_recording(file, robot))
    (found,) = result.deflections
    assert found.delay_s == pytest.approx(0.0008, abs=5e-5)
    assert np.allclose(found.stiffness, STIFFNESS, rtol=0.1)
    assert result.fit.total < 0.005
    assert not any("the model does not hold" in line for line in result.warnings)
    # By the motors alone the joints' bending is an error of the model.
    data = Dataset.from_recording(file, robot)
    assert data.motor is not None
    blind = fit(
        robot, Dataset.from_arrays(data.t, data.motor, data.tau), cutoff_hz=result.processing.cutoff_hz
    )
    assert (blind.fit.per_joint[4:6] > 1.1 * result.fit.per_joint[4:6]).all()
