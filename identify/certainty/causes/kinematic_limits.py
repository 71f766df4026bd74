"""What positions and stamps alone contradict: joints that turn further, move faster or slower than an arm does.

Nothing of the robot's masses and of its torques is needed, so these looks are made in every fit.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.reason import CAUSE, Reason, Severity
from heft.identify.robot import Robot

__all__ = ["FASTEST", "beyond_limits", "reach"]

MOST_TURNS = 3.0  # of a joint: more are hardly an arm's motion
BEYOND = 2.0  # times the range of a joint
TOO_FAST = 1.5  # times a joint's velocity limit
FASTEST = 25.0  # [rad/s], of a joint without a limit: wrists of small arms reach 17
FASTEST_TIP = 15.0  # [m/s], of an arm without limits: parallel robots that pick and place reach 10
TOO_SLOW = 0.1  # of every joint's velocity limit: inertia then takes a hundredth of what it can


def beyond_limits(robot: Robot, travel: Array, speed: Array) -> list[Reason]:
    """What is wrong with ranges [rad, m] and top speeds [rad/s, m/s] of the joints, shape (n,) each."""
    return _degrees(robot, travel) or [*_too_fast(robot, speed), *_too_slow(robot, speed)]


def _degrees(robot: Robot, travel: Array) -> list[Reason]:
    """A joint that turns over twice its range, or most joints over several turns; no cure where degrees do, too."""
    assert robot.limits is not None
    turning = ~robot.tree.prismatic
    if not turning.any():
        return []
    span = robot.limits.position[:, 1] - robot.limits.position[:, 0]
    limited = np.isfinite(span) & (span > 0) & turning
    over = np.where(limited, travel / np.where(limited, BEYOND * span, 1.0), 0.0)
    turns = travel[turning & ~limited] / (2 * np.pi * MOST_TURNS)
    if over.max() > 1:
        worst = int(np.argmax(over))
        allowed = BEYOND * span[worst]
    elif len(turns) > 1 and float(np.median(turns)) > 1:
        worst = int(np.argmax(np.where(turning & ~limited, travel, 0.0)))
        allowed = 2 * np.pi * MOST_TURNS
    else:
        return []
    text = f"{robot.joints[worst]} moves over {travel[worst]:.3g} rad, it can about {allowed:.3g}"
    weight = 2 * CAUSE + float(travel[worst] / allowed)
    if np.radians(travel[worst]) > allowed:
        text += (
            ", and read in degrees it is too far, too: positions look like counts of an encoder, or those of the "
            "motor; state their unit (`4096 counts per rev`) or the gear ratio"
        )
        return [Reason("position-unit", "unfit", text, weight, (robot.joints[worst],))]
    text += ": positions look like degrees; give them in radians"
    fix = {"position": {"unit": "deg"}}
    return [Reason("position-unit", "unfit", text, weight, (robot.joints[worst],), fix)]


def _too_fast(robot: Robot, speed: Array) -> list[Reason]:
    """The joint that is furthest above its velocity limit, or an arm without limits that is faster than any."""
    assert robot.limits is not None
    limit, slides = robot.limits.velocity, robot.tree.prismatic
    told = np.isfinite(limit) & (limit > 0)
    over = np.where(told, speed / np.where(told, limit, 1.0), 0.0)
    worst = int(np.argmax(over))
    if over[worst] >= TOO_FAST:
        unit = "m/s" if slides[worst] else "rad/s"
        text = (
            f"{robot.joints[worst]} would move at {speed[worst]:.3g} {unit}, {over[worst]:.2g} times its limit of "
            f"{limit[worst]:.3g} {unit}: the sampling rate is overstated, positions are not in radians, or the limit "
            "is that of careful motion; correct t, q or the limit"
        )
        severity: Severity = "unfit" if over[worst] > 2 * TOO_FAST else "care"
        return [Reason("too-fast", severity, text, weight=CAUSE + float(np.log(over[worst])))]
    if told.any():
        return []
    lever = np.array([reach(robot, j) for j in range(len(robot.joints))])
    tip = np.where(slides, speed, speed * lever)
    over = np.maximum(tip / FASTEST_TIP, np.where(slides, 0.0, speed / FASTEST))
    worst = int(np.argmax(over))
    if over[worst] < 1:
        return []
    text = (
        f"{robot.joints[worst]} would move at {speed[worst]:.3g} {'m/s' if slides[worst] else 'rad/s'} with up to "
        f"{lever[worst]:.2g} m of arm behind it, faster than arms are: the sampling rate is overstated, or positions "
        "are not in radians; correct t or q"
    )
    return [Reason("too-fast", "unfit", text, weight=CAUSE + float(np.log(over[worst])))]


def _too_slow(robot: Robot, speed: Array) -> list[Reason]:
    """A motion in which no joint reaches a tenth of its velocity limit."""
    assert robot.limits is not None
    limit = robot.limits.velocity
    told = np.isfinite(limit) & (limit > 0)
    if not told.any():
        return []
    share = float((speed[told] / limit[told]).max())
    if share >= TOO_SLOW:
        return []
    text = (
        f"no joint moves faster than {100 * share:.2g} % of its velocity limit, and inertia shows from about "
        f"{100 * TOO_SLOW:.0f} % on: the sampling rate is understated, t is not in seconds, or the motion was too slow "
        "to identify inertias; correct t, or move faster"
    )
    return [Reason("too-slow", "care", text, weight=CAUSE + float(np.log(TOO_SLOW / max(share, 1e-6))))]


def reach(robot: Robot, joint: int = 0) -> float:
    """From a joint to the last frame that it moves, with all joints between them stretched [m]."""
    tree, longest = robot.tree, 0.0
    for link in tree.subtree(joint):
        path = tree.support(link)
        path = path[path.index(joint) :]
        steps = [tree.link_in_joint[a] @ tree.joint_in_parent[b] for a, b in pairwise(path)]
        steps.append(tree.link_in_joint[link])
        longest = max(longest, sum(float(np.linalg.norm(step[:3, 3])) for step in steps))
    return longest
