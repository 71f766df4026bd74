"""An IMU that is not on the root: what joints between them do is taken off."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from heft.identify import Dataset, Processing, Robot, fit
from heft.identify.data.survey import survey

NOISE = np.array([0.3] * 3 + [0.02] * 3)


@pytest.fixture(scope="module")
def robot(floating: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Robot:
    folder = tmp_path_factory.mktemp("walker")
    return floating.walker(folder, imu={"imu": "imu", "shank": "left_sole"}, joint_terms=())


@pytest.fixture(scope="module")
def motion(floating: ModuleType) -> Any:
    return floating.swing(4, 20.0, seed=5)


@pytest.fixture(scope="module")
def readings(robot: Robot, motion: Any) -> Any:
    """Of the shank's IMU, by differences of its pose in the world alone (T, 6)."""
    link, place = robot.imus["shank"]
    assert link >= 0
    turn, origin = robot.tree.link_pose(link, motion.q.T)
    turn, origin = turn @ place[:3, :3], origin + turn @ place[:3, 3]
    turn = motion.rotation @ turn
    origin = motion.pose[:, :3] + (motion.rotation @ origin[:, :, None])[:, :, 0]

    def slope(values: Any) -> Any:
        found = np.gradient(values, motion.t, axis=0)
        inner = 8 * (values[3:-1] - values[1:-3]) - (values[4:] - values[:-4])
        found[2:-2] = inner / (12 * (motion.t[1] - motion.t[0]))
        return found

    spin = np.swapaxes(turn, 1, 2) @ slope(turn)
    rate = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    proper = slope(slope(origin)) - robot.gravity
    return np.hstack([rate, (np.swapaxes(turn, 1, 2) @ proper[:, :, None])[:, :, 0]])


def test_the_root_moves_as_its_pose_says(robot: Robot, motion: Any, readings: Any) -> None:
    processing = Processing(8.0)
    found = []
    for told in (
        {"imu": {"shank": readings}},
        {"imu": {"imu": motion.imu(robot)}},
        {"base_pose": motion.pose},
    ):
        wrench = {"crane": np.zeros((len(motion.t), 6))}
        surveyed = survey(robot, Dataset.from_arrays(motion.t, motion.q, wrenches=wrench, **told), processing)
        step = surveyed.sampling.step_s
        filters = processing.differentiator(1 / step)
        piece = surveyed.sampling.pieces[0]
        found.append(surveyed.data.root(robot, piece, step, 200, 3000, filters))
    shank, trunk, pose = found
    for rows, size in ((slice(0, 3), 2e-3), (slice(3, 6), 2e-2), (slice(6, 9), 2e-2)):
        assert np.abs(shank[rows] - pose[rows]).max() < size
        assert np.abs(trunk[rows] - pose[rows]).max() < size


def test_links_are_identified_by_it(floating: ModuleType, robot: Robot, motion: Any, readings: Any) -> None:
    truth = floating.truth_of(robot, size=0.15)
    ideal = floating.readings(robot, motion, truth, ("crane", "boot"))
    rng = np.random.default_rng(4)
    wrenches = {name: ideal[name] + NOISE * rng.normal(size=(len(motion.t), 6)) for name in ("crane", "boot")}
    noisy = readings + rng.normal(size=readings.shape) * np.array([1e-3] * 3 + [1e-2] * 3)
    result = fit(
        robot, Dataset.from_arrays(motion.t, motion.q, wrenches=wrenches, imu={"shank": noisy}), cutoff_hz=8.0
    )
    assert result.fit.total < 0.02
    for name in ("left_boot.mass", "left_thigh.mass", "trunk.mass"):
        mass = result.intervals[name]
        link = robot.links.index(name.partition(".")[0])
        assert abs(mass.value - truth[10 * link]) < 3.5 * mass.std
    assert not [one for one in result.findings if one.id.startswith(("imu", "wrench"))]
