"""Recordings of real robots by others, as robots and datasets: looked for in ../shared/data, or in $HEFT_DATA.

Each is read as its source has it; nothing is filtered or tuned. What their README says of units is applied here.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np

from heft.identify import Dataset, Robot

__all__ = ["RECORDINGS", "Parts", "folder"]

ROOT = Path(__file__).parents[1]
ROBOTS = ROOT / "configs" / "robots"
FIT = 0.67  # of a recording; the rest validates

#: A robot, what it is fitted to, and what it is validated on.
Parts = tuple[Robot, Dataset, Dataset]


def folder() -> Path:
    """Where the recordings are."""
    return Path(os.environ.get("HEFT_DATA", ROOT.parent / "shared" / "data"))


def _arrays(name: str) -> dict[str, np.ndarray]:
    with np.load(folder() / name) as data:
        return dict(data)


def panda() -> Parts:
    """Franka Panda, 1 kHz with gaps, torque sensors behind the gears."""
    data = _arrays("panda_gaz.npz")
    whole = Dataset.from_arrays(data["t"], data["q"], data["tau"])
    return Robot.load(ROBOTS / "panda.yaml"), *whole.split(FIT)


def tx40() -> Parts:
    """Staubli TX40, 5 kHz, its moving part."""
    data = _arrays("staubli_tx40.npz")
    whole = Dataset.from_arrays(data["t"], data["q"], data["tau"])
    moving = whole.between(float(whole.t[0]), float(whole.t[0]) + 7.4)
    return Robot.load(ROBOTS / "tx40.yaml"), *moving.split(FIT)


def kinova() -> Parts:
    """Kinova Gen3, motor currents times the torque constant; another run validates: each is one motion one way."""
    data = _arrays("kinova_gen3_chiha.npz")
    runs = [
        Dataset.from_arrays(data[f"{run}__t"], data[f"{run}__q"], data[f"{run}__tau_cur"])
        for run in ("RecordTrajectory_quadratic", "RunTrajectory1")
    ]
    return Robot.from_urdf(folder() / "kinova_gen3_chiha.urdf"), runs[0], runs[1]


def ur10() -> Parts:
    """Universal Robots UR10, a ROS 2 bag at 125 Hz."""
    joints = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"]
    stamps, positions, efforts = _joint_states(
        folder() / "ur10_unisa_exciting.db3", [f"{joint}_joint" for joint in joints]
    )
    whole = Dataset.from_arrays(stamps, positions, efforts)
    return Robot.from_urdf(folder() / "ur10_unisa.urdf"), *whole.split(FIT)


def tiago() -> Parts:
    """PAL TIAGo's arm, 100 Hz, motor currents times gear and torque constant; the torso is locked."""
    data = _arrays("tiago_arm.npz")
    gear = np.array([100, 100, 100, 100, 336, 336, 336])
    constant = np.array([0.136, 0.136, -0.087, -0.087, -0.0613, -0.0613, -0.0613])
    robot = Robot.from_urdf(
        folder() / "tiago_arm.urdf",
        locked=["wheel_right_joint", "wheel_left_joint", "torso_lift_joint", "head_1_joint", "head_2_joint"],
    )
    whole = Dataset.from_arrays(data["t"], data["q"][:, 1:], data["effort"][:, 1:] * gear * constant)
    return robot, *whole.split(FIT)


def kr300() -> Parts:
    """KUKA KR300, 250 Hz, slow; run A is fitted, run B validates. It has no model: lengths by its data sheet."""
    data = _arrays("kr300_weigand.npz")
    turn = np.pi / 2
    rows = [
        {"alpha": np.pi, "a": 0.0, "d": -0.675, "theta": 0.0},
        {"alpha": turn, "a": 0.35, "d": 0.0, "theta": 0.0},
        {"alpha": 0.0, "a": 1.15, "d": 0.0, "theta": -turn},
        {"alpha": turn, "a": 0.041, "d": -1.0, "theta": 0.0},
        {"alpha": -turn, "a": 0.0, "d": 0.0, "theta": 0.0},
        {"alpha": turn, "a": 0.0, "d": -0.24, "theta": 0.0},
    ]
    robot = Robot.from_dh(rows, convention="modified")
    runs = [
        Dataset.from_arrays(data[f"{run}__t"], data[f"{run}__q_link"], data[f"{run}__tau"]) for run in "AB"
    ]
    return robot, runs[0], runs[1]


RECORDINGS: dict[str, tuple[str, Callable[[], Parts]]] = {
    "panda": ("panda_gaz.npz", panda),
    "tx40": ("staubli_tx40.npz", tx40),
    "kinova": ("kinova_gen3_chiha.npz", kinova),
    "ur10": ("ur10_unisa_exciting.db3", ur10),
    "tiago": ("tiago_arm.npz", tiago),
    "kr300": ("kr300_weigand.npz", kr300),
}


def _joint_states(path: Path, joints: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stamps [s] (T,), positions and efforts (T, n) of `/joint_states` in a ROS 2 bag: CDR in sqlite3."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as bag:
        query = (
            "SELECT data FROM messages JOIN topics ON topic_id = topics.id WHERE name = ? ORDER BY timestamp"
        )
        messages = [_Cdr(data) for (data,) in bag.execute(query, ("/joint_states",))]
    stamps, positions, efforts = [], [], []
    for message in messages:
        stamps.append(message.integer() + 1e-9 * message.integer())
        message.text()
        names = [message.text() for _ in range(message.integer())]
        place = [names.index(joint) for joint in joints]
        position, _, effort = (message.doubles() for _ in range(3))
        positions.append(position[place])
        efforts.append(effort[place])
    return np.array(stamps) - stamps[0], np.array(positions), np.array(efforts)


class _Cdr:
    """Reads little-endian CDR: four bytes of head, then values aligned to their size."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data[4:], 0

    def integer(self) -> int:
        self._at += -self._at % 4
        self._at += 4
        return int.from_bytes(self._data[self._at - 4 : self._at], "little")

    def text(self) -> str:
        size = self.integer()
        self._at += size
        return self._data[self._at - size : self._at - 1].decode()

    def doubles(self) -> np.ndarray:
        size = self.integer()
        if size:
            self._at += -self._at % 8
        self._at += 8 * size
        return np.frombuffer(self._data[self._at - 8 * size : self._at], "<f8")
