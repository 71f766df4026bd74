"""Identification from base equations, inner sensors and an IMU: no joint torques needed."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from heft.identify import fit
from heft.identify.data import Dataset
from heft.identify.errors import DataError
from heft.identify.fit import Signals
from heft.identify.result.report import Evidence
from heft.identify.result.report.page import render
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters

NOISE = np.array([0.3] * 3 + [0.02] * 3)
BIAS = np.array([3.0, -2.0, 4.0, 0.2, -0.1, 0.3])


def recorded(
    floating: ModuleType,
    robot: Robot,
    motion: Any,
    links: Any,
    sources: tuple[str, ...],
    seed: int = 5,
    **changes: Any,
) -> Dataset:
    """What sensors with noise and bias would tell of a motion."""
    rng = np.random.default_rng(seed)
    ideal = floating.readings(robot, motion, links, sources)
    wrenches = {
        name: ideal[name] + BIAS + NOISE * rng.normal(size=(len(motion.t), 6))
        for name in sources
        if name != "joints"
    }
    imu = motion.imu(robot) + rng.normal(size=(len(motion.t), 6)) * np.array([1e-3] * 3 + [1e-2] * 3)
    torque = ideal["joints"] + 0.05 * rng.normal(size=motion.q.shape)
    return Dataset.from_arrays(
        motion.t,
        motion.q + 1e-5 * rng.normal(size=motion.q.shape),
        torque if "joints" in sources else None,
        **{"wrenches": wrenches, "imu": {"imu": imu}, **changes},
    )


@pytest.fixture(scope="module")
def robot(floating: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Robot:
    return floating.walker(tmp_path_factory.mktemp("walker"), joint_terms=("viscous", "offset"))


@pytest.fixture(scope="module")
def motion(floating: ModuleType) -> Any:
    return floating.swing(4, 20.0)


@pytest.fixture(scope="module")
def truth(floating: ModuleType, robot: Robot) -> Any:
    return floating.truth_of(robot, size=0.3)


def distance(robot: Robot, values: Any, truth: Any, sources: tuple[str, ...]) -> float:
    """Of the base parameters of the links that the sources tell, relative."""
    base = base_parameters(robot.measuring(sources))
    count = 10 * len(robot.links)
    own = [i for i, k in enumerate(base.independent) if k < count]
    K = base.matrix[own][:, :count]
    return float(np.linalg.norm(K @ (values[:count] - truth)) / np.linalg.norm(K @ truth))


@pytest.mark.parametrize("sources", [("crane",), ("crane", "boot"), ("joints", "crane", "boot")])
def test_fit_without_and_with_joint_torques(
    floating: ModuleType, robot: Robot, motion: Any, truth: Any, sources: tuple[str, ...]
) -> None:
    result = fit(robot, recorded(floating, robot, motion, truth, sources), "sdp", cutoff_hz=8.0)
    assert result.robot.sources is not None
    assert set(result.robot.sources) == set(sources)
    assert result.consistency().ok
    assert result.rank == len(result.base.names)
    before = distance(robot, robot.prior, truth, sources)
    assert distance(robot, result.parameters.values, truth, sources) < 0.2 * before
    named = dict(zip(result.layout.names, result.parameters.values, strict=True))
    assert named["crane.tx.offset"] == pytest.approx(BIAS[3], abs=0.15)
    if "boot" in sources:
        assert named["left_boot.m"] == pytest.approx(truth[-10], rel=0.03)
    told = {one.source: one.rank for one in result.sources}
    assert len(told) == (1 if len(sources) == 1 else len(sources) + 1)
    again = type(result).from_dict(result.to_dict())
    assert again.sources == result.sources


def test_a_pose_says_as_much_as_an_imu(floating: ModuleType, robot: Robot, motion: Any, truth: Any) -> None:
    exact = {"base_pose": motion.pose, "base_twist": motion.twist, "base_acceleration": motion.acceleration}
    for given in ({"base_pose": motion.pose}, exact):
        data = recorded(floating, robot, motion, truth, ("crane", "boot"), imu={}, **given)
        result = fit(robot, data, "wls", cutoff_hz=8.0, signals=Signals(delay_s=0.0))
        assert distance(robot, result.parameters.values, truth, ("crane", "boot")) < 0.02


def test_a_known_delay_and_a_reaction_are_taken_out(
    floating: ModuleType, tmp_path: Path, motion: Any, truth: Any
) -> None:
    sensors = {
        "crane": {"frame": "hook", "contact": True, "reaction": True},
        "boot": {"frame": "boot_ft", "delay_s": 0.0125},
    }
    other = floating.walker(tmp_path, wrench_sensors=sensors, joint_terms=())
    ideal = floating.readings(other, motion, truth, ("crane", "boot"))
    late = np.stack([np.interp(motion.t - 0.0125, motion.t, column) for column in ideal["boot"].T], axis=1)
    data = Dataset.from_arrays(
        motion.t, motion.q, wrenches={"crane": -ideal["crane"], "boot": late}, imu={"imu": motion.imu(other)}
    )
    result = fit(other, data, "wls", cutoff_hz=8.0, signals=Signals(delay_s=0.0))
    assert result.fit.total < 2e-3
    assert result.parameters["left_boot"].mass == pytest.approx(truth[-10], rel=2e-3)


def test_an_imu_upside_down_is_told(floating: ModuleType, robot: Robot, motion: Any, truth: Any) -> None:
    turned = motion.imu(robot) * np.array([1, -1, -1, 1, -1, -1])
    data = recorded(floating, robot, motion, truth, ("crane",), imu={"imu": turned})
    result = fit(robot, data, "wls", cutoff_hz=8.0, signals=Signals(delay_s=0.0))
    assert "imu-turned" in {one.id for one in result.findings}
    assert result.verdict.grade == "unfit"


@pytest.mark.parametrize(("change", "told"), [("turn", "wrench-turned"), ("sign", "wrench-sign")])
def test_a_sensor_that_is_turned_is_told(
    floating: ModuleType, robot: Robot, motion: Any, change: str, told: str
) -> None:
    data = recorded(floating, robot, motion, floating.truth_of(robot, size=0.1), ("crane", "boot"))
    assert data.wrenches is not None
    angle = np.radians(225)
    turn = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    wrong = np.kron(np.eye(2), turn) if change == "turn" else -np.eye(6)
    wrenches = {"crane": data.wrenches[:, :6], "boot": data.wrenches[:, 6:] @ wrong.T}
    other = Dataset.from_arrays(data.t, data.q, wrenches=wrenches, imu={"imu": data.imu})
    result = fit(robot, other, "wls", cutoff_hz=8.0, signals=Signals(delay_s=0.0))
    found = {one.id: one for one in result.findings}
    assert told in found
    assert found[told].where == ("boot",)
    if change == "turn":
        angles = re.search(r"turned by (\d+) degrees about z", found[told].text)
        assert angles is not None
        assert abs(int(angles.group(1)) - 225) <= 5  # by the robot's file, which is off
    healthy = fit(robot, data, "wls", cutoff_hz=8.0, signals=Signals(delay_s=0.0))
    assert not {one.id for one in healthy.findings} & {"wrench-turned", "wrench-sign", "imu-turned"}


def test_feet_that_turn_are_told(floating: ModuleType, tmp_path: Path, motion: Any) -> None:
    soles = {name: {"frame": f"{name}_sole", "contact": True, "rest": True} for name in ("left", "right")}
    other = floating.walker(tmp_path, wrench_sensors=soles, joint_terms=())
    still = {name: np.zeros((len(motion.t), 6)) for name in soles}
    data = Dataset.from_arrays(motion.t, motion.q, wrenches=still, imu={"imu": motion.imu(other)})
    result = fit(other, data, "wls", cutoff_hz=8.0, signals=Signals(delay_s=0.0))
    assert "contact-moves" in {one.id for one in result.findings}


def test_nothing_is_dropped_without_a_word(
    floating: ModuleType, robot: Robot, motion: Any, truth: Any
) -> None:
    ideal = floating.readings(robot, motion, truth, ("crane",))
    imu = {"imu": motion.imu(robot)}

    def data(**given: Any) -> Dataset:
        return Dataset.from_arrays(motion.t, motion.q, **given)

    with pytest.raises(DataError, match="wrench plate has no place in walker"):
        fit(robot, data(wrenches={"plate": ideal["crane"]}, imu=imu))
    with pytest.raises(DataError, match="IMU head has no place"):
        fit(robot, data(wrenches={"crane": ideal["crane"]}, imu={"head": imu["imu"]}), cutoff_hz=8.0)
    with pytest.raises(DataError, match="moves freely, and the data do not say how"):
        fit(robot, data(wrenches={"crane": ideal["crane"]}), cutoff_hz=8.0)
    with pytest.raises(DataError, match="contact crane acts on walker"):
        fit(robot, data(tau=ideal["joints"], imu=imu))
    with pytest.raises(DataError, match="neither torques nor wrenches"):
        fit(robot, data(imu=imu))
    with pytest.raises(DataError, match="without base_pose"):
        data(wrenches={"crane": ideal["crane"]}, base_twist=motion.twist)
    with pytest.raises(DataError, match="two accounts"):
        data(wrenches={"crane": ideal["crane"]}, base_pose=motion.pose, imu=imu)
    with pytest.raises(DataError, match="length"):
        data(wrenches={"crane": ideal["crane"]}, base_pose=np.zeros((len(motion.t), 7)))


@pytest.mark.parametrize("format", ["urdf", "mjcf"])
def test_export_of_a_free_base_and_of_a_split_link(
    floating: ModuleType, robot: Robot, motion: Any, truth: Any, tmp_path: Path, format: str
) -> None:
    result = fit(robot, recorded(floating, robot, motion, truth, ("crane", "boot")), "sdp", cutoff_hz=8.0)
    path = tmp_path / f"walker.{'urdf' if format == 'urdf' else 'xml'}"
    (result.export_urdf if format == "urdf" else result.export_mjcf)(path, force=True)
    again = Robot.from_mjcf(path) if format == "mjcf" else Robot.from_urdf(path, base="free")
    assert again.tree.free
    assert again.joints == robot.joints
    assert again.prior is not None
    total = sum(again.prior[10 * i] for i in range(len(again.links)))
    assert total == pytest.approx(result.total_mass)
    page = render(result, Evidence.of(result, [recorded(floating, robot, motion, truth, ("crane", "boot"))]))
    assert "crane.fx" in page
    assert "left_hip" not in page.split('id="torques"')[1].split("</section>")[0]  # it was not measured
