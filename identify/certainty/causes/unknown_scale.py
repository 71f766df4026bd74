"""A robot's file without masses: how heavy the links are to the torques, and whether an arm of that reach could be.

Without masses nothing tells a factor of the torques from a heavier arm, short of an arm that nobody builds. Arms from
half a metre to three metres hold torques that grow with the fourth power of their reach: mass with the third, lever
with the first.
"""

from __future__ import annotations

import numpy as np

from heft.identify.certainty.causes.agreement import Agreement
from heft.identify.certainty.causes.kinematic_limits import reach
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.robot import Robot

__all__ = ["link_scale", "scale_unknown", "unlikely_torque"]

SCALES = tuple(10.0**power for power in range(-4, 7))  # of the links, over those that nothing is known of
FINER = 10**0.5
ROUNDS = 4  # of the search at each of them
GRAVITY = 9.81  # [m/s2]
#: Root mean square of the largest torque, as a mass held at the reach, over the reach cubed [kg/m3]: bounds
#: that are chosen wide, not measured on arms.
LEAST, MOST = 0.1, 300.0


def link_scale(agreement: Agreement) -> float:
    """How heavy the links are, over what is taken for links of which nothing is known: the most probable scale."""
    costs = {scale: agreement.explained(scale, rounds=ROUNDS).cost for scale in SCALES}
    best = min(costs, key=lambda scale: costs[scale])
    costs |= {scale: agreement.explained(scale, rounds=ROUNDS).cost for scale in (best / FINER, best * FINER)}
    return min(costs, key=lambda scale: costs[scale])


def unlikely_torque(robot: Robot, agreement: Agreement, rows: int) -> list[Reason]:
    """Torques that no arm of this reach has.

    rows   that the squares of each joint are sums of
    """
    length = _stretched(robot)
    torques = np.sqrt(agreement.grams[:, -1, -1] / max(rows, 1)) * ~robot.tree.prismatic
    largest = float(torques.max())
    if not (length > 0 and largest > 0):
        return []
    held = largest / (GRAVITY * length)
    density = held / length**3
    if LEAST <= density <= MOST:
        return []
    low, high = (bound * length**3 for bound in (LEAST, MOST))
    text = (
        f"the torque of {robot.joints[int(np.argmax(torques))]}, {largest:.3g} N m (root mean square), holds "
        f"{held:.2g} kg at the arm's reach of {length:.2g} m, and arms of that reach hold {low:.2g} to {high:.2g} kg: "
        "the torque constants, gear ratios or unit of torque; correct `torque_constant` or `gear`"
    )
    beyond = max(np.log(density / MOST), np.log(LEAST / density))
    return [Reason("torque-scale", "care", text, weight=CAUSE + float(beyond))]


def _stretched(robot: Robot) -> float:
    """The arm's reach with its last link [m]; zero for joints that are all at one place, which tells no size."""
    length, last = reach(robot), robot.extents[robot.links[-1]]
    return length and length + float(np.linalg.norm(np.abs(last).max(axis=0)))


def scale_unknown() -> Reason:
    """What cannot be known where neither file nor data sheet, load or wrist sensor tells a mass."""
    text = (
        "the robot's file has no masses, so that a factor of all torques or of one joint's, a wrong rate or another "
        "mounting may not show: give masses, `total_mass` of the data sheet, or a recording with a known load"
    )
    return Reason("scale-unknown", "care", text, weight=55.0)
