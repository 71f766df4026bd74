"""A load as controllers ask for it. Pure functions; each takes an estimate in the flange's frame.

Inertia is about the centre of mass with the axes of the flange, except for KUKA, which wants principal moments and
axes. An inertia that the motion did not tell is left out where the controller allows it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.pseudo_inertia import inertia_about_com
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.output.payload_frames import principal_inertia

__all__ = ["FrankaLoad", "KukaLoad", "franka_load", "kuka_load", "ros_inertia", "ur_payload"]


def _list(values: object) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in np.asarray(values, dtype=np.float64)) + "]"


def ur_payload(load: PayloadEstimate, hand: ArrayLike) -> str:
    """URScript for hand and object together: mass [kg], centre of gravity [m], and, if measured, inertia [kg m2] (Ixx,
    Iyy, Izz, Ixy, Ixz, Iyz).

    The controller knows one payload, all that hangs on the flange: told of the object alone, it would let the arm sink
    by the hand's weight. `hand` are the ten numbers of the bare hand in the flange's frame.
    """
    load.require_frame("flange")
    ten = load.ten + np.asarray(hand, dtype=np.float64)
    mass, com = float(ten[0]), ten[1:4] / ten[0]
    if "inertia" in load.prior_dominated:
        return f"set_target_payload({mass:.6g}, {_list(com)})"
    six = inertia_about_com(ten)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return f"set_target_payload({mass:.6g}, {_list(com)}, {_list(six)})"


@dataclass(frozen=True)
class FrankaLoad:
    """Arguments of libfranka's `Robot::setLoad`: mass [kg], translation from flange to centre of mass [m] (3),
    inertia about it [kg m2], column by column (9).
    """

    load_mass: float
    F_x_Cload: tuple[float, ...]
    load_inertia: tuple[float, ...]


def franka_load(load: PayloadEstimate) -> FrankaLoad:
    """For Franka; it wants a positive definite inertia, so a prior-dominated one is given too."""
    load.require_frame("flange")
    return FrankaLoad(load.mass, tuple(load.com.tolist()), tuple(load.inertia_com.ravel(order="F").tolist()))


@dataclass(frozen=True)
class KukaLoad:
    """KUKA load data: M [kg]; centre of mass X, Y, Z [mm]; orientation of the principal axes A, B, C [deg], turned
    about Z, then the new Y, then the new X; principal moments JX, JY, JZ [kg m2].
    """

    M: float
    X: float
    Y: float
    Z: float
    A: float
    B: float
    C: float
    JX: float
    JY: float
    JZ: float

    @property
    def krl(self) -> str:
        """As a KRL aggregate of type LOAD."""
        return (
            f"{{M {self.M:.4f},CM {{X {self.X:.2f},Y {self.Y:.2f},Z {self.Z:.2f},"
            f"A {self.A:.2f},B {self.B:.2f},C {self.C:.2f}}},"
            f"J {{X {self.JX:.6f},Y {self.JY:.6f},Z {self.JZ:.6f}}}}}"
        )


def kuka_load(load: PayloadEstimate) -> KukaLoad:
    """For KUKA."""
    load.require_frame("flange")
    principal = principal_inertia(load)
    R = principal.axes
    cosine = float(np.hypot(R[0, 0], R[1, 0]))
    B = np.arctan2(-R[2, 0], cosine)
    if cosine > 1e-9:
        A, C = np.arctan2(R[1, 0], R[0, 0]), np.arctan2(R[2, 1], R[2, 2])
    else:  # A and C turn about the same axis: all of it is A
        A, C = np.arctan2(-R[0, 1], R[1, 1]), 0.0
    angles = np.degrees([A, B, C])
    return KukaLoad(load.mass, *(1000 * load.com).tolist(), *angles.tolist(), *principal.moments.tolist())


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
