"""Pre-flight: what only identification knows of a motion, handed to acquisition; and what the operator sees of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heft.daq.config.rig import RigConfig
from heft.daq.config.scene import SceneConfig
from heft.daq.motion.plan import Leg, Route
from heft.daq.trajectory.checks import Check
from heft.drivers.errors import HeftError
from heft.terminal.motion import Outlook
from heft.torque_check import torque_checks

if TYPE_CHECKING:
    from heft.identify.excitation.scene import Scene
    from heft.identify.robot import Robot

__all__ = ["Preflight"]

LOOKS_HZ = 100.0  # of the table that an operator sees; the checks look at every sample


class Preflight:
    """The checks of a rig's robot in a scene, ways around obstacles, and the outlook of a plan.

    checks   of whole motions: torques, collisions, workspace
    judged   those of them that are quick enough for every setpoint that arrives: torques

    Where the robot's model cannot be read by identification, torques and collisions are not checked, and a line on
    standard error says so.
    """

    def __init__(self, rig: RigConfig, scene: SceneConfig | None = None) -> None:
        self._rig = rig
        self.judged: list[Check] = torque_checks(rig.robot)
        self.checks: list[Check] = list(self.judged)
        self.route: Route | None = None
        self._robot: Robot | None = None
        self._scene: Scene | None = None
        if not rig.robot.excitation.collisions:
            return
        from heft.identify.excitation.preflight import collision_check, workspace_check
        from heft.identify.excitation.route import Router
        from heft.identify.excitation.scene import Scene
        from heft.identify.robot import Robot

        try:
            self._robot = Robot.from_config(rig.robot)
            self._scene = Scene(rig.robot, self._robot, rig.scene if scene is None else scene)
        except HeftError as exc:
            sys.stderr.write(f"heft: collisions are not checked beforehand: {exc}\n")
            return
        limits = rig.limits
        self.checks += [collision_check(self._scene), workspace_check(self._scene)]
        self.route = Router(self._scene, limits.lower, limits.upper)

    def outlook(self, plan: Sequence[Leg]) -> Outlook:
        """Of all motions of a plan."""
        from heft.identify.excitation.preflight import nearest
        from heft.identify.excitation.scene import MOUNTING_PLANE

        pairs = () if self._scene is None else self._scene.pairs
        every = np.arange(len(pairs))
        planes = np.flatnonzero([other == MOUNTING_PLANE for _, other in pairs])
        lowest, closest = (np.inf, ""), (np.inf, "")
        torque: NDArray[np.float64] | None = None
        for leg in plan:
            if leg.trajectory is None:
                continue
            step = max(1, round(leg.trajectory.rate_hz / LOOKS_HZ))
            for piece in leg.trajectory.pieces():
                q, dq, ddq = (a[::step] for a in (piece.position, piece.velocity, piece.acceleration))
                if self._robot is not None and self._robot.prior is not None:
                    peak = np.abs(self._robot.torque(q, dq, ddq, self._robot.prior)).max(axis=0)
                    torque = peak if torque is None else np.maximum(torque, peak)
                if self._scene is None:
                    continue
                least, pair = nearest(self._scene, q, planes)
                if pair is not None:
                    lowest = min(lowest, (least, pair[0]))
                least, pair = nearest(self._scene, q, every)
                if pair is not None:
                    closest = min(closest, (least, f"{pair[0]} and {pair[1]}"))
        return Outlook(
            lowest[0] if np.isfinite(lowest[0]) else None,
            lowest[1],
            closest[0] if np.isfinite(closest[0]) else None,
            closest[1],
            torque,
        )
