"""Real drivers on emulated CAN drives of a coupled arm: joints are commanded and watched, motors are recorded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from heft.daq.recording import Recording
from heft.exit_codes import ExitCode
from heft.main import main

# In real time: a machine that is too busy for 0.5 s stops the arm, and rightly so.
pytestmark = [pytest.mark.slow, pytest.mark.alone]

CONFIGS = Path(__file__).parents[3] / "configs"
POSTURE = [0.0, -1.5708, 1.5708, 0.0, 0.2, 0.1]
GOAL = [0.1, -1.5, 1.5, 0.1, 0.6, -0.4]


def axes(*joints: int) -> str:
    gears = {1: 32.0, 2: 32.0, 3: 45.0, 4: -48.0, 5: 45.0, 6: 32.0}
    return ", ".join(f"joint{j}_motor: {{node: {j}, gear: {gears[j]}, zero: 0.25}}" for j in joints)


def nodes(*joints: int) -> str:
    gears = {1: 32.0, 2: 32.0, 3: 45.0, 4: -48.0, 5: 45.0, 6: 32.0}
    return ", ".join(f"{{node: {j}, gear: {gears[j]}, zero: 0.25}}" for j in joints)


#: Two buses: the shoulder, and the wrist, whose motor 6 turns with joints 5 and 6.
DRIVE = (
    "kind: odrive_can, rate_hz: 50, feedback_hz: 50, input_mode: filter, "
    "watchdog_s: 0.5, timeout_s: 0.4, catch_up: 10"
)
EMULATED = "servo_hz: 500, encoder_rate_ms: 20, iq_rate_ms: 20, watchdog_timeout: 0.5, bandwidth_hz: 10"
RIG = f"""
name: bench
robot: {CONFIGS / "robots" / "tx40.yaml"}
simulation:
  model: {CONFIGS / "robots" / "tx40_plant.xml"}
  step_s: 0.004
  posture: {POSTURE}
devices:
  shoulder: {{{DRIVE}, channel: can0, joints: [joint1, joint2, joint3], axes: {{{axes(1, 2, 3)}}}}}
  wrist: {{{DRIVE}, channel: can1, joints: [joint4, joint5, joint6], axes: {{{axes(4, 5, 6)}}}}}
emulation:
  devices:
    shoulder: {{{EMULATED}, nodes: [{nodes(1, 2, 3)}]}}
    wrist: {{{EMULATED}, nodes: [{nodes(4, 5, 6)}]}}
"""
SESSION = f"""
name: short
rig: rig.yaml
rate_hz: 100
watch: {{stream_age_s: 1.5, tracking_error: 0.15}}  # a busy machine is no failure
steps:
  - {{name: reach, move: {{to: {GOAL}, fraction: 0.1}}}}
"""


def test_joints_are_commanded_and_motors_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rig.yaml").write_text(RIG)
    (tmp_path / "session.yaml").write_text(SESSION)
    session, out = str(tmp_path / "session.yaml"), tmp_path / "out"
    code = main(["run", session, "--out", str(out), "--no-identify", "--json"])
    outcome = json.loads(capsys.readouterr().out)
    assert code == ExitCode.DONE, outcome
    recording = Recording.open(out / "short.mcap")
    wrist, shoulder = recording.columns("wrist.motion"), recording.columns("shoulder.motion")
    assert [c.of for c in recording.streams["wrist.motion"].columns[:3]] == [
        "joint4_motor",
        "joint5_motor",
        "joint6_motor",
    ]
    first, last = wrist.quantity("position")[[0, -1]]
    assert np.allclose(first, [0.0, 0.2, 0.3], atol=0.01)  # motor 6 turns with joints 5 and 6
    assert np.allclose(last, [0.1, 0.6, 0.2], atol=0.03)
    assert np.allclose(shoulder.quantity("position")[-1], GOAL[:3], atol=0.03)
    sent = recording.columns("shoulder_wrist.sent")  # setpoints of the joints, all together
    assert np.allclose(sent.quantity("position")[-1], GOAL)
    assert outcome["tracking_error"] < 0.1  # watched joint by joint
    assert {e.facts["device"] for e in recording.events if e.name == "drives_off"} == {"shoulder", "wrist"}
