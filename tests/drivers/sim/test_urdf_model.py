"""A robot of a URDF file in the simulated plant: its frames are links, and what is fixed keeps its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heft.drivers.errors import OptionError
from heft.drivers.sim.model import SENSED, compile_plant, read_structure
from heft.drivers.sim.robot import SimJoint, SimRobot

INERTIAL = """<inertial><origin xyz="0 0 0.1"/><mass value="{mass}"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial>"""


def fixed(parent: str, child: str) -> str:
    return (
        f'<joint name="{child}_fixed" type="fixed"><parent link="{parent}"/><child link="{child}"/>'
        '<origin xyz="0 0 0.05"/></joint>'
    )


def robot(folder: Path, *, tool_on: str) -> SimRobot:
    """One joint, a flange, a wrist sensor, and a tool that hangs on one of them."""
    path = folder / "arm.urdf"
    path.write_text(
        '<robot name="arm"><link name="base"/>'
        f'<link name="arm">{INERTIAL.format(mass=2.0)}</link><link name="flange"/><link name="ft"/>'
        f'<link name="tool">{INERTIAL.format(mass=0.5)}</link>'
        '<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="50" velocity="2"/></joint>'
        + fixed("arm", "flange")
        + fixed("flange", "ft")
        + fixed(tool_on, "tool")
        + "</robot>",
        encoding="utf-8",
    )
    joint = SimJoint(name="turn", position=(-1.0, 1.0), velocity=2.0, acceleration=10.0, torque=50.0)
    return SimRobot("arm", path, (joint,), flange="flange", sensor="ft", hand="tool")


def test_links_that_are_fixed_keep_their_names(tmp_path: Path) -> None:
    arm = robot(tmp_path, tool_on="ft")
    structure = read_structure(arm)
    assert {structure.link_of[name] for name in ("arm", "flange", "ft", "tool")} == {"arm"}
    assert structure.relative("tool", "flange")[:3, 3] == pytest.approx([0.0, 0.0, 0.1])
    assert structure.inertias["tool"].mass == pytest.approx(0.5)
    model = compile_plant(arm, structure.inertias, np.zeros(1))
    assert model.nsensor == len(SENSED)
    assert model.site("ft").bodyid[0] == model.body("ft").id


def test_a_sensor_beside_the_hand_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        OptionError, match=r"'ft' is fixed to 'ft' in arm\.urdf, which does not carry the hand"
    ):
        read_structure(robot(tmp_path, tool_on="flange"))
