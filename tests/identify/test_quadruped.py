"""Four feet on the ground, each on a six-axis sensor: a robot that no helper of ours was made for."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit
from heft.identify.errors import DataError, ModelError

FEET = ("lf", "rf", "lh", "rh")
NOISE = np.array([0.3] * 3 + [0.02] * 3)
LOAD = np.array([5.0, 5.0, 50.0, 0.5, 0.5, 0.5])  # what a foot carries, about [N, N m]
LEG = """<body name="{0}_hip" pos="{1} {2} 0">
  <joint name="{0}_roll" axis="1 0 0" range="-0.8 0.8"/>
  <inertial mass="1.2" pos="0 0.02 0" diaginertia="0.002 0.003 0.002"/>
  <body name="{0}_thigh" pos="0 {3} 0"><joint name="{0}_pitch" axis="0 1 0" range="-1.5 1.5"/>
    <inertial mass="1.5" pos="0 0 -0.1" fullinertia="0.012 0.012 0.002 0 0 0.0003"/>
    <body name="{0}_shank" pos="0 0 -0.25"><joint name="{0}_knee" axis="0 1 0" range="-2.5 0"/>
      <inertial mass="0.4" pos="0 0 -0.12" diaginertia="0.003 0.003 0.0004"/>
      <site name="{0}_toe" pos="0 0 -0.26"/>
    </body></body></body>"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    legs = "".join(
        LEG.format(name, x, y, np.sign(y) * 0.08)
        for name, x, y in (("lf", 0.3, 0.1), ("rf", 0.3, -0.1), ("lh", -0.3, 0.1), ("rh", -0.3, -0.1))
    )
    path = tmp_path_factory.mktemp("quadruped") / "quadruped.xml"
    path.write_text(
        f"""<mujoco model="quadruped"><compiler angle="radian"/><worldbody>
<body name="trunk" pos="0 0 0.5"><freejoint name="root"/>
<inertial mass="14" pos="0.01 0 0.02" diaginertia="0.12 0.5 0.55"/><site name="imu" pos="0.05 0 0.03"/>
{legs}</body></worldbody></mujoco>"""
    )
    return path


@pytest.fixture(scope="module")
def robot(file: Path) -> Robot:
    sensors = {name: {"frame": f"{name}_toe", "contact": True} for name in FEET}
    return Robot.from_mjcf(file, wrench_sensors=sensors, imu={"imu": "imu"}, joint_terms=())


@pytest.fixture(scope="module")
def truth(floating: ModuleType, robot: Robot) -> Any:
    return floating.truth_of(robot, size=0.15)


@pytest.fixture(scope="module")
def motion(floating: ModuleType) -> Any:
    return floating.swing(12, 20.0)


@pytest.fixture(scope="module")
def readings(floating: ModuleType, robot: Robot, truth: Any, motion: Any) -> dict[str, Any]:
    """Three feet carry what they like, the last what is left."""
    base = floating.readings(robot, motion, truth, ("base",))["base"]
    contacts = robot.measuring(FEET).regressor.layout.contact_rows
    rng, found = np.random.default_rng(0), dict[str, Any]()
    for k, contact in enumerate(contacts.contacts):
        X = contacts.at_base(contact, motion.q.T)
        phase = motion.t[:, None] * (1 + k + 0.7 * np.arange(6)) + rng.uniform(0, 6, 6)
        wrench = LOAD * (np.array([0, 0, 1, 0, 0, 0]) + 0.3 * np.sin(phase))
        if contact.name == FEET[-1]:
            wrench = np.linalg.solve(X, base[:, :, None])[:, :, 0]
        base = base - (X @ wrench[:, :, None])[:, :, 0]
        found[contact.name] = wrench + NOISE * rng.normal(size=wrench.shape)
    return found


def identified(robot: Robot, motion: Any, wrenches: dict[str, Any]) -> Result:
    data = Dataset.from_arrays(motion.t, motion.q, wrenches=wrenches, imu={"imu": motion.imu(robot)})
    return fit(robot, data, cutoff_hz=6.0)


def test_its_links_are_found(robot: Robot, motion: Any, readings: dict[str, Any], truth: Any) -> None:
    result = identified(robot, motion, readings)
    for link, ten in zip(result.parameters.links, truth.reshape(-1, 10), strict=True):
        mass = result.intervals[f"{link.name}.mass"]
        assert abs(mass.value - ten[0]) < 3 * mass.std
    assert result.intervals["total_mass"].value == pytest.approx(truth.reshape(-1, 10)[:, 0].sum(), rel=1e-3)
    assert not [one for one in result.findings if one.id.startswith(("wrench", "imu"))]


@pytest.mark.parametrize("foot", ["rf", "lh"])
def test_one_foot_of_the_other_sign_is_told(
    robot: Robot, motion: Any, readings: dict[str, Any], foot: str
) -> None:
    result = identified(robot, motion, {**readings, foot: -readings[foot]})
    (found,) = [one for one in result.findings if one.id.startswith("wrench")]
    assert found.id == "wrench-sign"
    assert found.text.startswith(f"{foot} fits with the other sign")
    assert result.verdict.grade == "unfit"


def test_one_foot_that_is_turned_is_told(robot: Robot, motion: Any, readings: dict[str, Any]) -> None:
    c, s = np.cos(1.2), np.sin(1.2)
    turn = np.kron(np.eye(2), [[1, 0, 0], [0, c, -s], [0, s, c]])
    result = identified(robot, motion, {**readings, "lf": readings["lf"] @ turn})
    (found,) = [one for one in result.findings if one.id.startswith("wrench")]
    assert found.id == "wrench-turned"
    assert found.text.startswith("lf is turned")


def test_a_sensor_that_reads_always_the_same_is_told(
    robot: Robot, motion: Any, readings: dict[str, Any]
) -> None:
    result = identified(robot, motion, {**readings, "rh": np.full_like(readings["rh"], 0.5)})
    assert [one for one in result.findings if one.id == "wrench-silent" and one.text.startswith("rh reads")]
    assert result.verdict.grade == "unfit"


def test_what_is_given_wrongly_is_refused_in_words(
    file: Path, robot: Robot, motion: Any, readings: dict[str, Any]
) -> None:
    with pytest.raises(ModelError, match=r"wrench_sensors\.lf: 'lf_toe'; give its keys"):
        Robot.from_mjcf(file, wrench_sensors={"lf": "lf_toe"})  # type: ignore[dict-item]
    with pytest.raises(
        ModelError, match=r"imu\.imu: the model has no frame .*; it must be one of trunk, imu"
    ):
        Robot.from_mjcf(file, imu={"imu": {"site": "imu"}})  # type: ignore[dict-item]
    with pytest.raises(DataError, match="contact rh acts on quadruped, and the data have no wrench of it"):
        identified(robot, motion, {name: readings[name] for name in FEET[:3]})
