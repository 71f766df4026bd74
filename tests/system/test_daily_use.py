"""What a new user runs into in the first days."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording
from heft.identify.data.recorded_robot import robot_of
from heft.identify.robot import Robot

if TYPE_CHECKING:
    Bench = Any

URDF = """<robot name="two">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0 0 0.2"/><mass value="2"/>
      <inertia ixx="0.03" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://two_description/meshes/upper.dae"/></geometry></visual>
    <collision><geometry><mesh filename="package://two_description/meshes/upper.stl"/></geometry></collision>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0 0.1"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://two_description/meshes/lower.dae"/></geometry></visual>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="60"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/>
    <axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="30"/></joint>
</robot>
"""


@pytest.mark.parametrize("place", ["models/wam7.xml", "../elsewhere/wam7.xml"])
def test_a_model_in_a_folder_of_its_own_travels(bench: Bench, place: str) -> None:
    bench.folder = bench.folder / "cell"
    bench.folder.mkdir()
    (bench.folder / place).parent.mkdir(parents=True)
    (bench.folder / place).write_bytes((CONFIGS / "robots/wam7.xml").read_bytes())
    bench.robot["model"] = place
    run = bench.run()
    assert run.code == 0, run.err
    (bench.folder / place).unlink()  # on another machine
    robot = robot_of(run.recording)
    assert robot.links == Robot.load("configs/robots/wam7.yaml").links
    assert f"configuration/{place.removeprefix('../')}" in run.recording.attachments


def test_an_absolute_model_travels(bench: Bench, tmp_path: Path) -> None:
    bench.robot["model"] = str(tmp_path / "wam7.xml")
    run = bench.run()
    (tmp_path / "wam7.xml").unlink()
    assert robot_of(run.recording).name == bench.robot["name"]


def test_the_robot_that_is_given_goes_before_the_recordings(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = bench.run().recording
    robot = Robot.load("configs/robots/wam7.yaml")
    lost = tuple(name for name in recording.attachments if not name.endswith(".xml"))
    monkeypatch.setattr(Recording, "attachments", property(lambda self: lost))
    with pytest.raises(Exception, match=r"wam7.xml of its robot is not inside.*--robot"):
        robot_of(recording)
    assert robot_of(recording, robot) is robot


def test_a_ros_urdf_with_meshes_elsewhere_is_simulated(bench: Bench) -> None:
    joint = {"position": [-2, 2], "velocity": 2.0, "acceleration": 6.0, "torque": 60.0}
    bench.robot = {"name": "two", "model": "two.urdf", "joints": {"shoulder": joint, "elbow": joint}}
    (bench.folder / "two.urdf").write_text(URDF, encoding="utf-8")
    arm = bench.rig["devices"]["arm"]
    bench.rig["devices"] = {"arm": {"kind": arm["kind"]}}
    bench.rig["simulation"] = {"posture": [0.0, 0.5]}
    bench.session["steps"] = [{"name": "sway", "use": "identification", "move": {"to": [0.3, 0.2]}}]
    run = bench.run()
    assert run.code == 0, run.err


def test_limits_in_degrees_are_refused_before_anything_moves(bench: Bench) -> None:
    bench.robot["joints"]["joint2"]["position"] = [-113.0, 113.0]
    run = bench.run()
    assert run.code == 2
    assert "angles are in radians" in run.err
    assert not run.folder.exists()


def test_a_busy_host_slows_a_simulated_session_down(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host stalls for longer than a stream may be silent: simulated devices wait with it."""
    import time

    from heft.daq.session.ledger import Ledger

    original, calls = Ledger.enter, [0]

    def slow(self: Ledger, block: Any) -> None:
        calls[0] += 1
        if calls[0] % 200 == 0:
            time.sleep(0.1)  # at 5 times real time: half a second
        original(self, block)

    monkeypatch.setattr(Ledger, "enter", slow)
    run = bench.run(speed="5")
    assert run.code == 0, run.err
    assert run.json["lost"] == 0
