"""Distances against geometry that can be worked out by hand, and against MuJoCo's own."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import mujoco
import numpy as np
import pytest

from heft.daq.config.robot import RobotConfig, load_robot
from heft.daq.config.scene import MountingConfig, ObstacleConfig, PlaneConfig, SceneConfig
from heft.daq.errors import CheckError
from heft.daq.trajectory.trajectory import Trajectory
from heft.identify.errors import ModelError
from heft.identify.excitation.preflight import collision_check, looked_at, nearest, workspace_check
from heft.identify.excitation.route import Router
from heft.identify.excitation.scene import MOUNTING_PLANE, Scene
from heft.identify.robot import Robot

from .conftest import CONFIGS

READY = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])


@pytest.fixture(scope="module")
def robot(panda: RobotConfig) -> Robot:
    return Robot.from_config(panda)


def scene(panda: RobotConfig, robot: Robot, **parts: object) -> Scene:
    return Scene(panda, robot, SceneConfig(**parts))  # type: ignore[arg-type]


def test_distances_between_links_and_to_a_box_are_those_of_mujoco(panda: RobotConfig, robot: Robot) -> None:
    """MuJoCo reads the same file; its distances are its own code."""
    table = ObstacleConfig(box=(0.4, 0.6, 0.1), at=(0.5, 0.0, 0.1))
    ours = scene(panda, robot, obstacles={"table": table}, mounting=MountingConfig(plane=False))
    spec = mujoco.MjSpec.from_file(str(CONFIGS / "robots/panda.xml"))
    spec.worldbody.add_geom(
        name="table", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.2, 0.3, 0.05], pos=[0.5, 0.0, 0.1]
    )
    model = spec.compile()
    data = mujoco.MjData(model)
    limits = robot.limits
    assert limits is not None
    low, high = limits.position.T
    for q in np.random.default_rng(0).uniform(low, high, (30, 7)):
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        found = ours.distances(q[None])[0]
        for (one, other), distance in zip(ours.pairs, found, strict=True):
            theirs = mujoco.mj_geomDistance(model, data, _geom(model, one), _geom(model, other), 5.0, None)
            assert max(distance, 0.0) == pytest.approx(max(theirs, 0.0), abs=2e-3), (one, other)


def _geom(model: mujoco.MjModel, part: str) -> int:
    if part == "table":
        return int(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, part))
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, part)
    return int(model.body_geomadr[body])


def test_the_mounting_plane_is_there_by_default(panda: RobotConfig, robot: Robot) -> None:
    assert MOUNTING_PLANE in {other for _, other in scene(panda, robot).pairs}
    none = scene(panda, robot, mounting=MountingConfig(plane=False))
    assert MOUNTING_PLANE not in {other for _, other in none.pairs}


def test_a_motion_through_the_mounting_plane_is_refused(panda: RobotConfig, robot: Robot) -> None:
    line = np.linspace(0.0, 1.0, 500)[:, None]
    down = READY + line * (np.array([0.0, 1.7, 0.0, -0.5, 0.0, 1.0, 0.0]) - READY)
    still = np.zeros_like(down)
    motion = Trajectory(panda.axes, 100.0, down, still, still)
    with pytest.raises(
        CheckError, match=r"link\d and mounting_plane: .* at \d\.\d+ s, bound 0\.02 m; design"
    ):
        collision_check(scene(panda, robot))(motion)
    samples, _, _ = looked_at(scene(panda, robot), down)
    assert 5 < len(np.unique(samples)) < 400  # it does not look where nothing can have happened


def test_between_two_looks_nothing_is_closer_than_it_may_be(panda: RobotConfig, robot: Robot) -> None:
    among = scene(panda, robot)
    rng = np.random.default_rng(4)
    limits = robot.limits
    assert limits is not None
    low, high = limits.position.T
    for _ in range(5):
        begin, end = rng.uniform(low, high, (2, 7))
        line = begin + np.linspace(0.0, 1.0, 400)[:, None] * (end - begin)
        _, pairs, distances = looked_at(among, line)
        exact = among.distances(line)
        kept = np.all(distances >= among.wanted[pairs])
        assert kept == bool(np.all(exact >= among.wanted))
        every = np.arange(len(among.pairs))
        least, pair = nearest(among, line, every)
        assert exact.min() <= least <= exact.min() + 0.002
        assert pair == among.pairs[int(exact.min(axis=0).argmin())]


def test_balls_around_shapes_are_never_further_apart_than_the_shapes(
    panda: RobotConfig, robot: Robot
) -> None:
    box = ObstacleConfig(box=(0.4, 0.6, 0.1), at=(0.5, 0.0, 0.4), rpy=(0.3, 0.2, 0.1))
    wall = ObstacleConfig(plane=PlaneConfig(normal=(-2.0, 1.0, 0.5), offset=-1.6))
    among = scene(panda, robot, obstacles={"box": box, "wall": wall})
    limits = robot.limits
    assert limits is not None
    q = np.random.default_rng(5).uniform(*limits.position.T, (50, 7))
    exact, least = among.distances(q), among.at_least(q)
    assert np.all(least <= exact + 1e-9)
    assert np.median(exact - least) < 0.2
    far = exact > 0.1
    assert np.all(among.distances(q, 0.1)[far] >= 0.1)
    np.testing.assert_array_equal(among.distances(q, 0.1)[~far], exact[~far])


def test_the_flange_stays_in_its_workspace(panda: RobotConfig, robot: Robot) -> None:
    still = np.zeros((3, 7))
    motion = Trajectory(panda.axes, 100.0, np.tile(READY, (3, 1)), still, still)
    box = scene(panda, robot, workspace=((-0.2, -0.2, 0.0), (0.2, 0.2, 1.0)))
    with pytest.raises(CheckError, match=r"flange at x = 0\.\d+ m at 0\.000 s, bound 0\.2 m \(workspace\)"):
        workspace_check(box)(motion)


def test_a_way_is_found_around_a_wall(panda: RobotConfig, robot: Robot) -> None:
    wall = ObstacleConfig(box=(0.6, 0.04, 0.5), at=(0.55, 0.0, 0.25))
    among = scene(panda, robot, obstacles={"wall": wall})
    limits = robot.limits
    assert limits is not None
    route = Router(among, *limits.position.T)
    begin, end = READY.copy(), READY.copy()
    begin[0], end[0] = -0.8, 0.8
    begin[1], end[1] = 0.3, 0.3
    assert not route.clear(begin, end)
    between = route(begin, end)
    assert between
    poses = [begin, *between, end]
    assert all(route.clear(one, other) for one, other in pairwise(poses))


def test_an_obstacle_may_not_be_called_like_a_link(panda: RobotConfig, robot: Robot) -> None:
    with pytest.raises(ModelError, match=r"obstacles\.link3: a link has this name"):
        scene(panda, robot, obstacles={"link3": ObstacleConfig(sphere=0.1)})


POST = """<mujoco><compiler angle="radian"/><worldbody>
<geom type="box" size="0.1 0.1 0.2" pos="0.5 0 0.2"/>
<body name="one"><joint name="j1" axis="0 0 1" range="-2 2"/><geom type="capsule" size="0.05" fromto="0 0 0 0 0 0.3"/>
<body name="two" pos="0 0 0.3"><joint name="j2" axis="0 1 0" range="-2 2"/>
<geom type="capsule" size="0.04" fromto="0 0 0 0 0 0.5"/></body></body></worldbody></mujoco>"""
#: Nothing is drawn: capsules of 5 cm around links, of which every second two touch wherever the joints are.
SHORT = """<robot name="short">
<link name="base"/><link name="l1"/><link name="l2"/><link name="l3"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="9" velocity="2"/></joint>
<joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.5" effort="9" velocity="2"/></joint>
<joint name="j3" type="revolute"><parent link="l2"/><child link="l3"/><origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.5" effort="9" velocity="2"/></joint></robot>"""


def _written(folder: Path, model: str, text: str, joints: int) -> Scene:
    (folder / model).write_text(text, encoding="utf-8")
    limits = "{position: [-1.5, 1.5], velocity: 2.0, acceleration: 8.0, torque: 9.0}"
    rows = "".join(f"  j{k + 1}: {limits}\n" for k in range(joints))
    path = folder / "arm.yaml"
    path.write_text(f"name: arm\nmodel: {model}\njoints:\n{rows}", encoding="utf-8")
    config = load_robot(path)
    return Scene(config, Robot.from_config(config))


def test_what_the_file_draws_of_the_base_stands_in_the_way(tmp_path: Path) -> None:
    among = _written(tmp_path, "post.xml", POST, 2)
    assert among.pairs == (("two", "robot_base"), ("two", "mounting_plane"))
    over = among.distances(np.array([[0.0, 1.3], [1.5, 1.3]]))[:, 0]
    assert over[0] < 0.0 < over[1]


def test_links_that_always_touch_are_one(tmp_path: Path) -> None:
    among = _written(tmp_path, "short.urdf", SHORT, 3)
    assert ("l1", "l3") not in among.pairs
