"""Joints whose torque has no part in an answer, since it cannot be a torque: by the file and all other joints.

A torque in another unit, or a current that no gravity moves, would pull the masses of all links that it is said to
carry: an answer without it is that of the other joints, and where they say nothing, the file's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from heft.identify.certainty.reason import CAUSE, Reason

__all__ = ["disowned_torques", "said_of_disowned"]

TORQUES = ("joint-gain", "constant-torque")  # reasons that are about the torque of a joint itself
BEYOND_DOUBT = (
    25.0  # nats: a file that is off in its own way blames a sound joint by up to 10, of short motion
)


def disowned_torques(
    findings: Sequence[Reason], joints: Sequence[str], unmeasured: Sequence[str]
) -> tuple[str, ...]:
    """Joints to leave out: those of the strongest cause, where that is a joint's torque, beyond doubt.

    None where half of the joints or fewer would be left: then it is not the joints that are wrong.

    unmeasured   joints that are left out already
    """
    cause = max((one for one in findings if one.cause), key=lambda one: one.weight, default=None)
    if cause is None or cause.id not in TORQUES or cause.weight < CAUSE + BEYOND_DOUBT:
        return ()
    without = tuple(joint for joint in cause.where if joint not in unmeasured)
    return without if 2 * (len(without) + len(unmeasured)) < len(joints) else ()


def said_of_disowned(findings: Sequence[Reason], without: Sequence[str]) -> tuple[Reason, ...]:
    """The reasons why these joints are left out, and that they are."""
    told = "; this answer is made without its torque (`unmeasured`)"
    return tuple(
        replace(one, text=one.text + told)
        for one in findings
        if one.id in TORQUES and one.where and set(one.where) <= set(without)
    )
