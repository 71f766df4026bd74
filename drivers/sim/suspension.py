"""What holds a robot with a free base: the hook of a crane, which gives way a little in all six directions.

The plant moves the root body by six coordinates: three slides along the world's axes, then three hinges about z, y
and x, all through the hook. On each of them acts a spring and a damper:

    force  = -stiffness x - damping dx/dt             on the hook, shape (3,)
    torque = -turning_stiffness r - turning_damping dr/dt   on the coordinates r = (yaw, pitch, roll)

Coordinates, not a quaternion, so that integration and memory of the plant know one kind of coordinate; they are
regular as long as the robot does not pitch by a right angle.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from heft.drivers.errors import OptionError
from heft.drivers.options import NonNegative, Options, Positive

__all__ = ["BASE_COORDINATES", "MOST_PITCH", "SuspensionOptions", "hang"]

#: Coordinates of a free base in the plant.
BASE_COORDINATES = 6
#: Pitch of the root at which the plant gives up [rad]: near a right angle its coordinates are not regular.
MOST_PITCH = 1.3

_SLIDES = {"base_x": (1, 0, 0), "base_y": (0, 1, 0), "base_z": (0, 0, 1)}
_HINGES = {"base_yaw": (0, 0, 1), "base_pitch": (0, 1, 0), "base_roll": (1, 0, 0)}


class SuspensionOptions(Options):
    """A crane's hook. The defaults let 60 kg swing at about 1.5 Hz, by some centimetres and hundredths of a radian."""

    #: Site or body of the root link that hangs on it.
    frame: str
    #: [N/m], [N s/m]: 60 kg sag by 3 cm.
    stiffness: Positive = 20000.0
    damping: NonNegative = 600.0
    #: [N m/rad], [N m s/rad]: a yoke, not a rope.
    turning_stiffness: Positive = 1500.0
    turning_damping: NonNegative = 100.0


def hang(spec: Any, root: Any, options: SuspensionOptions, model: str) -> None:
    """Replace what lets the root body of an MjSpec move freely by the hook's six coordinates and their springs."""
    site = spec.site(options.frame)
    if site is None or site.parent.name != root.name:
        raise OptionError(
            f"simulation.suspension.frame: {options.frame!r} is no site of {root.name} in {model}, which is the link "
            "that moves freely; name one that is fixed to it"
        )
    place = np.array(site.pos)
    for names, kind, stiffness, damping in (
        (_SLIDES, mujoco.mjtJoint.mjJNT_SLIDE, options.stiffness, options.damping),
        (_HINGES, mujoco.mjtJoint.mjJNT_HINGE, options.turning_stiffness, options.turning_damping),
    ):
        for name, axis in names.items():
            root.add_joint(name=name, type=kind, axis=axis, pos=place, stiffness=stiffness, damping=damping)
