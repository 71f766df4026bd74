"""A joint whose zero is elsewhere than the robot's file has it: gravity then pulls at another angle."""

from __future__ import annotations

import numpy as np

from heft.identify.certainty.causes.agreement import Agreement, Explained, Known
from heft.identify.certainty.causes.motion_sample import MotionSample
from heft.identify.certainty.reason import CAUSE, Reason, Severity
from heft.identify.robot import Robot

__all__ = ["joint_offset"]

LIKELY, CERTAIN = 10.0, 40.0  # nats, of some forty offsets
TRIED_DEG = (-60.0, -15.0, 15.0, 60.0, 180.0)
LEAST_DEG = 2.0
STEPS_DEG = (15.0, 5.0, 1.5)  # of the search around the best
ROUNDS = 3  # of the first look at each


def joint_offset(robot: Robot, known: Known, sample: MotionSample, now: Explained) -> list[Reason]:
    """The joint and the offset that explain the data best, if much better than none."""
    if not known.rigid.any():
        return []

    def explained(joint: int, degrees: float, rounds: int | None = None) -> float:
        q = sample.q.copy()
        q[:, joint] += np.radians(degrees)
        Y = robot.regressor.dense(q, sample.dq, sample.ddq)
        return Agreement.of_rows(known, Y, sample.tau, sample.kept).explained(rounds=rounds).cost

    turning = np.flatnonzero(~robot.tree.prismatic).tolist()
    tried = {(j, d): explained(j, d, ROUNDS) for j in turning for d in TRIED_DEG}
    if not tried:
        return []
    joint, best = min(tried, key=lambda one: tried[one])
    cost = explained(joint, best)
    for step in STEPS_DEG:
        costs = {d: explained(joint, d) for d in (best - step, best + step)} | {best: cost}
        best = min(costs, key=lambda d: costs[d])
        below, middle, above = explained(joint, best - step), costs[best], explained(joint, best + step)
        bend = below + above - 2 * middle
        if bend > 0:
            moved = best + float(np.clip(0.5 * step * (below - above) / bend, -step, step))
            again = explained(joint, moved)
            best, middle = (moved, again) if again < middle else (best, middle)
        cost = middle
    better = now.cost - cost
    if better < LIKELY or abs(best) < LEAST_DEG:
        return []
    name = robot.joints[joint]
    text = (
        f"the data fit much better with {best:.3g} degrees more on {name}: the zero of its encoder is not that of the "
        "robot's file; add the offset to its positions"
    )
    offset = [float(np.radians(best)) if one == name else 0.0 for one in robot.joints]
    severity: Severity = "unfit" if better > CERTAIN else "care"
    return [Reason("joint-offset", severity, text, CAUSE + better, (name,), {"position": {"offset": offset}})]
