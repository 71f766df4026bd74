"""A session with real drivers on emulated devices: it runs through, and a device that fails stops the motion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heft.exit_codes import ExitCode
from heft.main import main

# In real time: a machine that is too busy for 0.2 s stops the arm, and rightly so.
pytestmark = [pytest.mark.slow, pytest.mark.alone]

ROBOT = Path(__file__).parents[3] / "configs" / "robots" / "wam7.yaml"
AXES = ", ".join(f"joint{i}: {{number: {i}}}" for i in range(1, 8))
RIG = f"""
name: bench
robot: {ROBOT}
simulation:
  posture: [0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0]
devices:
  arm: {{kind: moteus, rate_hz: 100, watchdog_s: 0.5, axes: {{{AXES}}}}}
  wrist: {{kind: ati_rdt, host: 192.0.2.1}}
  gripper: {{kind: robotiq_2f, port: /dev/ttyUSB1, speed: 255, answer_s: 0.3, timeout_s: 2.0}}
emulation:
  devices:
    arm: {{servo_hz: 500, bandwidth_hz: 8}}
    wrist: {{}}
    gripper:
      activation_s: 0.1
      objects:
        bottle: {{mass: 0.53, com: [0.0, 0.0, 0.16], inertia: [0.002, 0.002, 0.0003, 0, 0, 0], width: 0.06}}
"""
STEPS = """
name: short
rig: rig.yaml
watch: {stream_age_s: 1.5}  # a busy machine is no failure
steps:
  - {name: grip, grip: bottle}
  - {name: lift, move: {to: [0.1, -0.4, 0.0, 1.8, -1.8, 0.0, 0.0]}}
  - {name: release, release: true}
"""


def run(folder: Path, capsys: pytest.CaptureFixture[str], faults: str = "") -> tuple[int, dict]:
    (folder / "rig.yaml").write_text(RIG + faults)
    waiting = "  - {name: wait, wait: 5}\n" if faults else ""
    (folder / "session.yaml").write_text(STEPS + waiting)
    code = main(
        ["run", str(folder / "session.yaml"), "--out", str(folder / "out"), "--no-identify", "--json"]
    )
    return code, json.loads(capsys.readouterr().out)


def test_grips_lifts_and_releases(tmp_path, capsys):
    code, outcome = run(tmp_path, capsys)
    assert code == ExitCode.DONE, outcome
    assert outcome["streams"]["wrist.wrench"]["lost"] == 0
    truth = json.loads((tmp_path / "out" / "short.truth.json").read_text())
    (payload,) = truth["payloads"]
    assert payload["object"] == "bottle"
    assert payload["t_drop"] > payload["t_pick"]
    assert truth["delays"]["wrist.wrench"] == pytest.approx(0.0015, abs=1e-6)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("{kind: silence, device: wrist, at_s: 1.5}", "wrist"),
        ("{kind: status, device: wrist, at_s: 1.5, bits: 131072}", "wrist.wrench: x.force is saturated"),
        ("{kind: status, device: wrist, at_s: 1.5, bits: 268435456}", "has had only fault samples"),
    ],
)
def test_a_device_that_fails_stops_the_motion_and_is_named(tmp_path, capsys, fault, says):
    code, outcome = run(tmp_path, capsys, f"  faults:\n    - {fault}\n")
    assert code in (ExitCode.ABORTED, ExitCode.FAILED)
    assert says in outcome["reason"]
