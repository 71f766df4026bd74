"""Rows of the table of a session: errors of the joints that were measured, and of nothing else."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np

from heft.daq.recording import Recording
from heft.identify import Dataset, Result, fit
from heft.identify.fit import identify_recordings
from heft.identify.fleet.session_facts import SessionFacts
from heft.identify.fleet.session_rows import rows_of


def errors(result: Result) -> list[str]:
    rows = rows_of(
        result,
        SessionFacts("arm1", 0.0, {}, {}, {}),
        session="night0",
        source="night0.mcap",
        digest="0",
        path="night0/result.json",
        temperature=np.full(len(result.robot.joints), 300.0),
    )
    return [one.parameter for one in rows if one.parameter.endswith("torque_error")]


def test_a_joint_that_is_left_out_has_no_error(recordings: list[Path]) -> None:
    result = identify_recordings(
        [Recording.open(recordings[0])], method="wls", settings={"unmeasured": ["joint2"]}
    )
    assert errors(result) == ["torque_error", "joint1.torque_error", "joint3.torque_error"]


def test_rows_of_wrenches_are_no_joints(floating: ModuleType, tmp_path: Path) -> None:
    robot = floating.walker(tmp_path, joint_terms=("viscous", "offset"))
    motion = floating.swing(4, 20.0)
    ideal = floating.readings(robot, motion, floating.truth_of(robot), ("joints", "crane", "boot"))
    rng = np.random.default_rng(0)
    noisy = {name: value + 0.02 * rng.normal(size=value.shape) for name, value in ideal.items()}
    data = Dataset.from_arrays(
        motion.t, motion.q, noisy.pop("joints"), wrenches=noisy, imu={"imu": motion.imu(robot)}
    )
    result = fit(robot, data, "wls", cutoff_hz=8.0)
    assert len(result.fit.per_joint) > len(robot.joints)
    assert errors(result) == ["torque_error", *(f"{joint}.torque_error" for joint in robot.joints)]
