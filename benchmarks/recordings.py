"""The real recordings in ../shared/data (or $HEFT_DATA): of each a robot, what to fit and what to hold back."""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heft.identify import Dataset, Robot

__all__ = ["RECORDINGS", "RealRecording", "real_recordings"]

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("HEFT_DATA", ROOT.parent / "shared" / "data"))
ROBOTS = ROOT / "configs" / "robots"
SHARE = 0.67  # of a single run, that is fitted; the rest is held back


@dataclass(frozen=True)
class RealRecording:
    """A robot with its motion: `fit` is seen by the fit, `unseen` is not. `name` for tables."""

    name: str
    robot: Robot
    fit: tuple[Dataset, ...]
    unseen: tuple[Dataset, ...]


def real_recordings(names: tuple[str, ...] = ()) -> Iterator[RealRecording]:
    """Those that are at hand, of these names or all; `FileNotFoundError` where none is."""
    if not DATA.is_dir():
        raise FileNotFoundError(f"no recordings in {DATA}; set HEFT_DATA to their folder")
    for name in names or tuple(RECORDINGS):
        yield RECORDINGS[name]()


def _split(name: str, robot: Robot, data: Dataset) -> RealRecording:
    seen, unseen = data.split(SHARE)
    return RealRecording(name, robot, (seen,), (unseen,))


def panda() -> RealRecording:
    """Franka Panda, joint torque sensors."""
    data = np.load(DATA / "panda_gaz.npz")
    return _split(
        "panda", Robot.load(ROBOTS / "panda.yaml"), Dataset.from_arrays(data["t"], data["q"], data["tau"])
    )


def _tx40() -> Dataset:
    data = np.load(DATA / "staubli_tx40.npz")
    moving = data["t"] < 7.5  # it stands still for the rest
    return Dataset.from_arrays(data["t"][moving], data["q"][moving], data["tau"][moving])


def tx40() -> RealRecording:
    """Staubli TX40 with its own robot file: coupled wrist, priors of 002."""
    return _split("tx40", Robot.load(ROBOTS / "tx40.yaml"), _tx40())


def tx40_urdf() -> RealRecording:
    """The same with somebody's URDF, which knows nothing of the coupling."""
    return _split("tx40 urdf", Robot.from_urdf(DATA / "staubli_tx40.urdf"), _tx40())


def kinova() -> RealRecording:
    """Kinova Gen3, motor currents; another run is held back."""
    data = np.load(DATA / "kinova_gen3_chiha.npz")

    def run(name: str) -> Dataset:
        return Dataset.from_arrays(*(data[f"{name}__{what}"] for what in ("t", "q", "tau_cur")))

    robot = Robot.from_urdf(DATA / "kinova_gen3_chiha.urdf")
    return RealRecording("kinova", robot, (run("RecordTrajectory_quadratic"),), (run("RunTrajectory1"),))


def kinova_friction() -> RealRecording:
    """The same arm from its nine other runs, among them those of single joints."""
    data = np.load(DATA / "kinova_gen3_chiha.npz")
    runs = [f"joint_{k}_trapez" for k in range(1, 8)] + ["RecordTrajectory_quadratic"]
    parts = [
        Dataset.from_arrays(*(data[f"{name}__{what}"] for what in ("t", "q", "tau_cur")))
        for name in (*runs, "RunTrajectory1")
    ]
    robot = Robot.from_urdf(DATA / "kinova_gen3_chiha.urdf")
    return RealRecording("kinova all", robot, tuple(parts[:-1]), (parts[-1],))


def tiago() -> RealRecording:
    """PAL TIAGo's torso and arm; currents of the wrist carry no signal."""
    data = np.load(DATA / "tiago_arm.npz")
    reduction = np.array([1, 100, 100, 100, 100, 336, 336, 336])
    constant = np.array([1, 0.136, 0.136, -0.087, -0.087, -0.0613, -0.0613, -0.0613])
    names = [f"{name}_joint" for name in data["joints"]]
    others = ("head_1_joint", "head_2_joint", "wheel_left_joint", "wheel_right_joint")
    robot = Robot.from_urdf(DATA / "tiago_arm.urdf", locked=others)
    order = [names.index(joint) for joint in robot.joints]
    tau = data["effort"] * (reduction * constant)
    return _split("tiago", robot, Dataset.from_arrays(data["t"], data["q"][:, order], tau[:, order]))


def ur10() -> RealRecording:
    """UR10 from a bag of ROS 2: CDR in sqlite3."""
    robot = Robot.from_urdf(DATA / "ur10_unisa.urdf")
    with sqlite3.connect(f"file:{DATA / 'ur10_unisa_exciting.db3'}?mode=ro", uri=True) as base:
        rows = [_joint_state(row[0]) for row in base.execute("select data from messages order by timestamp")]
    order = [rows[0][1].index(joint) for joint in robot.joints]
    t = np.array([row[0] for row in rows])
    q, _, tau = (np.array([row[2][k] for row in rows])[:, order] for k in range(3))
    return _split("ur10", robot, Dataset.from_arrays(t, q, tau))


def _joint_state(message: bytes) -> tuple[float, list[str], list[tuple[float, ...]]]:
    """Stamp [s], names, and position, velocity, effort of a little-endian JointState."""
    place = 4

    def number(code: str) -> int:
        nonlocal place
        size = struct.calcsize(code)
        place += -(place - 4) % size
        (value,) = struct.unpack_from("<" + code, message, place)
        place += size
        return int(value)

    def text() -> str:
        nonlocal place
        size = number("I")
        place += size
        return message[place - size : place - 1].decode()

    def row() -> tuple[float, ...]:
        nonlocal place
        count = number("I")
        place += -(place - 4) % 8 if count else 0
        values = struct.unpack_from(f"<{count}d", message, place)
        place += 8 * count
        return values

    stamp = number("i") + 1e-9 * number("I")
    text()
    names = [text() for _ in range(number("I"))]
    return stamp, names, [row() for _ in range(3)]


def kr300_dh() -> Robot:
    """KUKA KR300 R2500: lengths of its data sheet, nothing known of its links."""
    rows = [
        (np.pi, 0, -0.675),
        (np.pi / 2, 0.35, 0),
        (0, 1.15, 0),
        (np.pi / 2, -0.041, -1.2),
        (-np.pi / 2, 0, 0),
        (np.pi / 2, 0, 0),
    ]
    return Robot.from_dh(
        [{"alpha": a, "a": b, "d": d, "theta": 0.0} for a, b, d in rows], convention="modified"
    )


def kr300() -> RealRecording:
    """KUKA KR300: slow, small motion; motor torques, and no model file."""
    data = np.load(DATA / "kr300_weigand.npz")
    parts = [
        Dataset.from_arrays(
            data[f"{run}__t"], data[f"{run}__q_motor"], data[f"{run}__tau"] * data["gear_ratio"]
        )
        for run in "AB"
    ]
    return RealRecording("kr300", kr300_dh(), (parts[0],), (parts[1],))


RECORDINGS: dict[str, Callable[[], RealRecording]] = {
    "panda": panda,
    "tx40": tx40,
    "tx40_urdf": tx40_urdf,
    "kinova": kinova,
    "kinova_friction": kinova_friction,
    "tiago": tiago,
    "ur10": ur10,
    "kr300": kr300,
}
