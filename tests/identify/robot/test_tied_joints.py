"""Joints that move with another one: refused, unless both are held still."""

from __future__ import annotations

from pathlib import Path

import pytest

from heft.identify import Robot
from heft.identify.errors import ModelError

_INERTIAL = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def urdf(folder: Path, mimic: str = '<mimic joint="finger1" multiplier="-1"/>') -> Path:
    """A swinging arm with two fingers, of which the second follows the first."""
    links = "".join(f'<link name="{name}">{_INERTIAL}</link>' for name in ("arm", "left", "right"))
    limit = '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="1"/>'
    joints = [("swing", "revolute", "base", "arm", ""), ("finger1", "prismatic", "arm", "left", "")]
    joints += [("finger2", "prismatic", "arm", "right", mimic)]
    tree = "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{limit}{tie}</joint>'
        for name, kind, parent, child, tie in joints
    )
    path = folder / "hand.urdf"
    path.write_text(f'<robot name="hand"><link name="base"/>{links}{tree}</robot>', encoding="utf-8")
    return path


def test_a_mimic_joint_is_refused_by_name_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"joint finger2 moves with finger1 .*name finger2 and finger1 under `locked`"
    ):
        Robot.from_urdf(urdf(tmp_path))


@pytest.mark.parametrize(("locked", "free"), [("finger2", "finger1"), ("finger1", "finger2")])
def test_one_of_both_cannot_be_locked_alone(tmp_path: Path, locked: str, free: str) -> None:
    with pytest.raises(ModelError, match=f"and {free} is not locked"):
        Robot.from_urdf(urdf(tmp_path), locked=[locked])


def test_both_locked_are_part_of_their_link(tmp_path: Path) -> None:
    robot = Robot.from_urdf(urdf(tmp_path), locked=["finger1", "finger2"])
    assert robot.joints == ("swing",)
    assert robot.prior is not None
    assert robot.prior[0] == pytest.approx(3.0)


def test_without_the_tie_all_three_move_by_themselves(tmp_path: Path) -> None:
    assert Robot.from_urdf(urdf(tmp_path, mimic="")).joints == ("swing", "finger1", "finger2")


def test_an_equality_of_mjcf_is_the_same(tmp_path: Path) -> None:
    body = '<inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/>'
    path = tmp_path / "hand.xml"
    path.write_text(
        f'<mujoco><worldbody><body name="a"><joint name="one"/>{body}<body name="b"><joint name="two"/>{body}'
        '</body></body></worldbody><equality><joint joint1="two" joint2="one"/></equality></mujoco>',
        encoding="utf-8",
    )
    with pytest.raises(ModelError, match="joint two moves with one"):
        Robot.from_mjcf(path)
