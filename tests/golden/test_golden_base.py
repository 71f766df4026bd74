"""Base parameters of the papers' robots: 004's direct drive arm, 003's WAM, 002's TX-40."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
import pytest

from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters

CONFIGS = Path(__file__).parents[2] / "configs" / "robots"

# 003, Table 2: standard Denavit-Hartenberg rows of the WAM (alpha, a, d).
WAM = [
    (-pi / 2, 0, 0),
    (pi / 2, 0, 0),
    (-pi / 2, 0.045, 0.55),
    (pi / 2, -0.045, 0),
    (-pi / 2, 0, 0.3),
    (pi / 2, 0, 0),
    (0, 0, 0.06),
]
# 003, Table 5: identification trajectory, a and b of five harmonics, and q0; Eq. 78 to 80.
SINES = [
    [0.05, -0.29, 0.48, 0.55, 0.65],
    [0.03, 0.29, -0.23, 0.32, 0.82],
    [-0.07, 0.40, 0.45, 0.40, -0.03],
    [0.14, -0.35, 0.15, 0.11, 0.93],
    [0.21, 0.35, 0.16, -0.02, 0.03],
    [-0.11, 0.28, 0.36, -0.06, 0.33],
    [-0.01, 0.24, 0.37, -0.45, 0.75],
]
COSINES = [
    [0.19, -0.40, -0.18, 0.63, -0.46],
    [0.09, -0.08, 0.05, -0.02, 0.65],
    [-0.49, 0.32, -0.26, -0.63, 0.06],
    [-0.14, 0.06, -0.13, -0.14, -0.03],
    [-0.51, 0.14, 0.37, -0.15, -0.17],
    [0.13, 0.07, 0.67, -0.15, -0.22],
    [0.24, 0.24, -0.22, -0.50, -0.52],
]
OFFSETS = [-0.29, 0.11, -0.02, 1.67, -2.41, 0.20, 0.58]

# 004, Appendix I, with l2 = 0.45 m; and Table 5's CAD column (SP2 recomputed from Table 3).
SP = {
    "SP1": ({"link2.yz": 1, "link3.mz": 0.45}, -1.3565),
    "SP2": ({"link3.xx": 1, "link3.yy": -1}, -0.2735),
    "SP3": ({"link2.zz": 1, "link3.xx": 1}, 0.8632),
    "SP4": ({"link1.zz": 1, "link2.xx": 1, "link3.xx": 1, "link3.m": 0.45**2}, 12.816),
    "SP5": ({"link2.xx": 1, "link3.xx": 1, "link2.yy": -1}, 0.4147),
    "SP6": ({"link3.mz": 1, "link2.my": -1}, -3.081),
}


@pytest.fixture(scope="module")
def ddarm() -> Robot:
    return Robot.load(CONFIGS / "ddarm.yaml")


@pytest.fixture(scope="module")
def wam() -> Robot:
    return Robot.from_dh([{"alpha": alpha, "a": a, "d": d} for alpha, a, d in WAM], convention="standard")


def test_ddarm_groups(ddarm: Robot) -> None:
    base = base_parameters(ddarm)
    assert (base.rank, len(ddarm.parameter_names)) == (15, 30)
    link1 = {f"link1.{term}" for term in ("m", "mx", "my", "mz", "xx", "xy", "xz", "yy", "yz")}
    assert set(base.groups["unidentifiable"]) == link1 | {"link2.m", "link2.mz"}
    alone = {"link2.mx", "link2.xy", "link2.xz"}
    alone |= {f"link3.{term}" for term in ("mx", "my", "xy", "xz", "yz", "zz")}
    assert set(base.groups["identifiable"]) == alone
    assert len(base.groups["combined"]) == 10


@pytest.mark.parametrize("name", SP)
def test_ddarm_combinations(ddarm: Robot, name: str) -> None:
    base = base_parameters(ddarm)
    terms, cad = SP[name]
    combination = np.array([terms.get(parameter, 0.0) for parameter in ddarm.parameter_names])
    outside = combination - np.linalg.lstsq(base.matrix.T, combination, rcond=None)[0] @ base.matrix
    assert np.abs(outside).max() < 1e-10
    assert combination @ ddarm.prior == pytest.approx(cad, abs=6e-4)


def test_wam_base_parameters_are_those_of_table_3(wam: Robot) -> None:
    base = base_parameters(wam)
    assert (base.rank, len(wam.parameter_names)) == (69, 98)
    for name in (
        "link1.yy + link2.zz + joint1.drive_inertia",
        "link3.xx + 0.002025 link3.m - link3.zz + link4.zz",
        "link3.xy - 0.045 link3.my",
        "link3.mz + link4.my",
        "link6.mz + 0.06 link7.m + link7.mz",
        "link6.yy + 0.0036 link7.m + 0.12 link7.mz + link7.yy",
        "link7.xx - link7.yy",
        "joint7.drive_inertia",
    ):
        assert name in base.names


def test_wam_trajectory_has_condition_number_98(wam: Robot) -> None:
    time, frequency = np.arange(57656) * 1e-3, 0.1 * pi
    w = frequency * np.arange(1, 6)
    phase = np.multiply.outer(time, w)
    sine, cosine = np.sin(phase), np.cos(phase)
    a, b = np.array(SINES), np.array(COSINES)
    q = sine @ (a / w).T - cosine @ (b / w).T + OFFSETS
    dq = cosine @ a.T + sine @ b.T
    ddq = cosine @ (b * w).T - sine @ (a * w).T
    p = len(wam.parameter_names)
    R = np.zeros((0, p))
    for start in range(0, len(time), 4096):
        part = slice(start, start + 4096, 4)  # every fourth sample says the same
        rows = wam.regressor.dense(q[part], dq[part], ddq[part]).reshape(-1, p)
        R = np.linalg.qr(np.concatenate([R, rows])).R
    assert base_parameters(wam).condition_number(R) == pytest.approx(98.0, abs=0.1)


def test_tx40_has_61_base_parameters() -> None:
    """002, section V B."""
    assert base_parameters(Robot.load(CONFIGS / "tx40.yaml")).rank == 61
