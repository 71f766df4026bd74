"""Findings of `heft check` on the real recordings in ../shared/data (or $HEFT_DATA): what `docs/gallery.md` tells.

python benchmarks/gallery.py [NAME ...]
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator

import numpy as np
from recordings import DATA, ROBOTS, _joint_state, kr300_dh

from heft.identify import Robot
from heft.identify.diagnosis.diagnose import diagnose
from heft.identify.diagnosis.log import Log

__all__ = ["logs"]

RUNS = ("RecordTrajectory_quadratic", "RunTrajectory1", "joint_2_trapez")


def logs(wanted: tuple[str, ...] = ()) -> Iterator[tuple[str, Log, Robot]]:
    """Name, log and robot of each recording whose name begins with one of these, or of all."""
    for name, make in MAKERS.items():
        if not wanted or any(name.startswith(word) or word.startswith(name) for word in wanted):
            for title, log, robot in make():
                if not wanted or any(title.startswith(word) for word in wanted):
                    yield title, log, robot


def _panda() -> Iterator[tuple[str, Log, Robot]]:
    data, robot = np.load(DATA / "panda_gaz.npz"), Robot.load(ROBOTS / "panda.yaml")
    yield "panda", Log.of_arrays(data["t"], data["q"], data["tau"], data["dq"], joints=robot.joints), robot


def _tx40() -> Iterator[tuple[str, Log, Robot]]:
    data = np.load(DATA / "staubli_tx40.npz")
    log = Log.of_arrays(data["t"], data["q"], data["tau"])
    yield "tx40", log, Robot.load(ROBOTS / "tx40.yaml")
    yield "tx40 urdf", log, Robot.from_urdf(DATA / "staubli_tx40.urdf")


def _kinova() -> Iterator[tuple[str, Log, Robot]]:
    data, robot = np.load(DATA / "kinova_gen3_chiha.npz"), Robot.from_urdf(DATA / "kinova_gen3_chiha.urdf")
    for run in RUNS:
        for tau in ("tau_cur", "tau_model"):
            yield (
                f"kinova {run} {tau}",
                Log.of_arrays(*(data[f"{run}__{key}"] for key in ("t", "q", tau, "dq"))),
                robot,
            )


def _kr300() -> Iterator[tuple[str, Log, Robot]]:
    data = np.load(DATA / "kr300_weigand.npz")
    tau = data["A__tau"] * data["gear_ratio"]
    q, dq = data["A__q_motor"], data["A__dq_motor"]
    yield "kr300", Log.of_arrays(data["A__t"], q, tau, dq), kr300_dh()
    yield "kr300 at 0.8 ms", Log.of_arrays(8e-4 * np.arange(len(q)), q, tau, dq), kr300_dh()


def _tiago() -> Iterator[tuple[str, Log, Robot]]:
    data = np.load(DATA / "tiago_arm.npz")
    gear = np.array([1, 100, 100, 100, 100, 336, 336, 336])
    constant = np.array([1, 0.136, 0.136, -0.087, -0.087, -0.0613, -0.0613, -0.0613])
    others = ("head_1_joint", "head_2_joint", "wheel_left_joint", "wheel_right_joint")
    robot = Robot.from_urdf(DATA / "tiago_arm.urdf", locked=others)
    names = [f"{name}_joint" for name in data["joints"]]
    order = [names.index(joint) for joint in robot.joints]
    tau = data["effort"] * (gear * constant)
    columns = (one[:, order] for one in (data["q"], tau, data["dq"]))
    yield "tiago", Log.of_arrays(data["t"], *columns, joints=robot.joints), robot


def _ur10() -> Iterator[tuple[str, Log, Robot]]:
    robot = Robot.from_urdf(DATA / "ur10_unisa.urdf")
    with sqlite3.connect(f"file:{DATA / 'ur10_unisa_exciting.db3'}?mode=ro", uri=True) as base:
        rows = [_joint_state(row[0]) for row in base.execute("select data from messages order by timestamp")]
    order = [rows[0][1].index(joint) for joint in robot.joints]
    t = np.array([row[0] for row in rows])
    q, dq, tau = (np.array([row[2][k] for row in rows])[:, order] for k in range(3))
    yield "ur10", Log.of_arrays(t - t[0], q, tau, dq, joints=robot.joints), robot


MAKERS = {"panda": _panda, "tx40": _tx40, "kinova": _kinova, "kr300": _kr300, "tiago": _tiago, "ur10": _ur10}


def main() -> int:
    """Print the findings of each."""
    for title, log, robot in logs(tuple(sys.argv[1:])):
        sys.stdout.write(f"{title}\n")
        for one in diagnose(log, robot):
            sys.stdout.write(f"  {one.severity:8}{one.id}: {one.where}: {one.evidence}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
