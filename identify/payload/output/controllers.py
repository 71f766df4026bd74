"""A load as controllers ask for it: `load_formats` filled from an estimate in the flange's frame.

Inertia is about the centre of mass with the axes of the flange, except for KUKA and ABB, which want principal moments
and axes. An inertia that the motion did not tell is left out where the controller allows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.output.load_formats import FORMATS, FrankaLoad, KukaLoad, UrLoad

__all__ = ["controller_texts", "franka_load", "kuka_load", "ros_inertia", "ur_load", "ur_payload"]


def _together(load: PayloadEstimate, hand: ArrayLike) -> Array:
    load.require_frame("flange")
    return np.asarray(load.ten + np.asarray(hand, dtype=np.float64))


def ur_load(load: PayloadEstimate, hand: ArrayLike) -> UrLoad:
    """For Universal Robots: hand and object together, with the inertia if it was measured.

    The controller knows one payload, all that hangs on the flange: told of the object alone, it would let the arm sink
    by the hand's weight. `hand` are the ten numbers of the bare hand in the flange's frame.
    """
    return UrLoad.of(_together(load, hand), inertia="inertia" not in load.prior_dominated)


def ur_payload(load: PayloadEstimate, hand: ArrayLike) -> str:
    """URScript of the same."""
    return ur_load(load, hand).text


def franka_load(load: PayloadEstimate) -> FrankaLoad:
    """For Franka: the object alone; it wants a positive definite inertia, so a prior-dominated one is given too."""
    load.require_frame("flange")
    return FrankaLoad.of(load.ten)


def kuka_load(load: PayloadEstimate, hand: ArrayLike | None = None) -> KukaLoad:
    """For KUKA: with the `hand`, all that is on the flange, as load data mean it; without, the object alone."""
    return KukaLoad.of(_together(load, np.zeros(10) if hand is None else hand))


def controller_texts(load: PayloadEstimate, hand: ArrayLike | None) -> dict[str, dict[str, Any]]:
    """What each controller is told, by its key: `name`, `means` (`hand and object`, `object alone`), `text`.

    `text` is None where a maker means both and the hand is not known.
    """
    load.require_frame("flange")
    told: dict[str, dict[str, Any]] = {}
    for key, form in FORMATS.items():
        text = None
        if form is UrLoad:
            text = None if hand is None else ur_payload(load, hand)
        elif not form.INCLUDES_HAND:
            text = form.of(load.ten).text
        elif hand is not None:
            text = form.of(_together(load, hand)).text
        means = "hand and object" if form.INCLUDES_HAND else "object alone"
        told[key] = {"name": form.NAME, "means": means, "text": text}
    return told


def ros_inertia(load: PayloadEstimate) -> dict[str, float | dict[str, float]]:
    """The fields of a ROS geometry_msgs/Inertia, in the flange's frame; inertia about the centre of mass."""
    load.require_frame("flange")
    com, inertia = load.com.tolist(), load.inertia_com.tolist()
    return {
        "m": load.mass,
        "com": {"x": com[0], "y": com[1], "z": com[2]},
        "ixx": inertia[0][0],
        "ixy": inertia[0][1],
        "ixz": inertia[0][2],
        "iyy": inertia[1][1],
        "iyz": inertia[1][2],
        "izz": inertia[2][2],
    }
