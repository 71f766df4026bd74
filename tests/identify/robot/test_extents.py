"""How large links are: as stated, as drawn, or as kinematics allow."""

from pathlib import Path

import numpy as np
import pytest

from heft.identify import Robot

CONFIGS = Path(__file__).parents[3] / "configs" / "robots"

URDF = """<robot name="arm">
  <link name="base"/>
  <joint name="joint1" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <link name="upper">
    <inertial><origin xyz="0 0 0.2"/><mass value="2"/>
      <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.001"/></inertial>
    {shape}
  </link>
  <joint name="joint2" type="revolute">
    <origin xyz="0 0 0.4"/><parent link="upper"/><child link="fore"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <link name="fore">
    <inertial><origin xyz="0.1 0 0"/><mass value="1"/>
      <inertia ixx="1e-6" ixy="0" ixz="0" iyy="1e-6" iyz="0" izz="1e-6"/></inertial>
  </link>
</robot>
"""


def robot(tmp_path: Path, shape: str) -> Robot:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF.format(shape=shape), encoding="utf-8")
    return Robot.from_urdf(path)


def test_a_drawn_shape_is_the_extent(tmp_path: Path) -> None:
    cylinder = '<origin xyz="0 0 0.2"/><geometry><cylinder radius="0.08" length="0.5"/></geometry>'
    drawn = robot(tmp_path, f"<collision>{cylinder}</collision>")
    assert drawn.extents["upper"] == pytest.approx(np.array([[-0.08, -0.08, -0.05], [0.08, 0.08, 0.45]]))
    assert drawn.boxes == {}  # no bound is meant


def test_a_thin_drawing_does_not_make_a_thin_link(tmp_path: Path) -> None:
    rod = '<geometry><cylinder radius="0.01" length="0.5"/></geometry>'
    low, high = robot(tmp_path, f"<visual>{rod}</visual>").extents["upper"]
    assert high - low == pytest.approx([0.1, 0.1, 0.5])


def test_a_mesh_that_is_not_there_has_no_say(tmp_path: Path) -> None:
    mesh = '<collision><geometry><mesh filename="package://arm/upper.stl"/></geometry></collision>'
    plain = robot(tmp_path, "")
    assert robot(tmp_path, mesh).shapes == {}
    assert robot(tmp_path, mesh).extents["upper"] == pytest.approx(plain.extents["upper"])


def test_without_shapes_a_link_reaches_its_joints(tmp_path: Path) -> None:
    plain = robot(tmp_path, "")
    low, high = plain.extents["upper"]
    assert low[2] <= 0.0
    assert high[2] >= 0.4
    assert plain.extents["fore"] == pytest.approx(np.array([[0.0, -0.05, -0.05], [0.2, 0.05, 0.05]]))


def test_a_stated_box_comes_first() -> None:
    wam = Robot.load(CONFIGS / "wam7.yaml")
    for link, box in wam.boxes.items():
        np.testing.assert_array_equal(wam.extents[link], box)
    assert set(wam.extents) == set(wam.links)


def test_there_and_back() -> None:
    wam = Robot.load(CONFIGS / "wam7.yaml")
    again = Robot.from_dict(wam.to_dict())
    assert set(again.shapes) == set(wam.shapes)
    for link in wam.links:
        np.testing.assert_array_equal(again.extents[link], wam.extents[link])
