"""Columns of two joints that stand in each other's place: of torques, of positions, or of both."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from heft.identify.certainty.causes.agreement import Agreement, Explained, Known
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.reason import CAUSE, Reason, Severity
from heft.identify.robot import Robot

__all__ = ["exchanged_joints"]

LIKELY, CERTAIN = 14.0, 30.0  # nats, of about sixty exchanges, each with another regressor
NO_FILE = 60.0  # nats, where links may be anything: they then take up much of what is wrong elsewhere
MOST_JOINTS = 8  # that are tried: those of which most torque is left
RIVAL = 5.0  # nats behind the best, within which another pair is as good an answer
LOOK_AGAIN = 4  # exchanges that are looked at closely


def exchanged_joints(robot: Robot, known: Known, sample: MotionSample, now: Explained) -> list[Reason]:
    """The exchange of two joints that explains the data best, if much better than none; two that can hardly be told."""
    slides, n = robot.tree.prismatic, len(robot.joints)
    given = robot.regressor.dense(sample.q, sample.dq, sample.ddq)
    tried: list[tuple[float, int, int, str, Agreement]] = []
    worst = np.sort(np.argsort(-now.left, kind="stable")[:MOST_JOINTS])
    for i, j in combinations(worst.tolist(), 2):
        if slides[i] != slides[j]:
            continue
        order = np.arange(n)
        order[[i, j]] = j, i
        swapped = robot.regressor.dense(sample.q[:, order], sample.dq[:, order], sample.ddq[:, order])
        tau, kept = sample.tau[:, order], sample.kept[:, order]
        for what, Y, torque, rows in (
            ("torques", given, tau, sample.kept),
            ("positions", swapped, sample.tau, kept),
            ("columns", swapped, tau, kept),
        ):
            agreement = Agreement.of_rows(known, Y, torque, rows)
            tried.append((agreement.explained(rounds=3).cost, i, j, what, agreement))
    tried.sort(key=lambda one: one[0])
    looked = [(one[4].explained().cost, *one[1:4]) for one in tried[:LOOK_AGAIN]]
    if not looked:
        return []
    looked.sort()
    likely = LIKELY if known.rigid.any() else NO_FILE
    pairs = {one[1:3]: one for one in reversed(looked)}  # the best of each pair
    best = looked[0][0]
    told = [one for one in sorted(pairs.values()) if now.cost - one[0] >= likely and one[0] < best + RIVAL]
    return [_reason(robot, now.cost - cost, i, j, what) for cost, i, j, what in told[:2]]


def _reason(robot: Robot, better: float, i: int, j: int, what: str) -> Reason:
    whole = "positions and torques" if what == "columns" else what
    text = (
        f"the data fit much better with the {whole} of {robot.joints[i]} and {robot.joints[j]} exchanged: the order of "
        f"the columns is not that of the robot's joints ({', '.join(robot.joints)}); reorder them"
    )
    severity: Severity = "unfit" if better > CERTAIN else "care"
    names = list(robot.joints)
    names[i], names[j] = names[j], names[i]
    key = {"torques": "torque", "positions": "position"}
    fix = {key[what]: {"columns": names}} if what in key else {"joints": names}
    where = (robot.joints[i], robot.joints[j])
    return Reason("joints-exchanged", severity, text, CAUSE + better, where, fix)
