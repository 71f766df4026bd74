"""A job: one thing that a service does on request. It is checked, then run, then finished."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heft.daq.bus.endpoint import Endpoints
from heft.daq.config.rig import RigConfig
from heft.daq.motion.plan import Leg
from heft.daq.motion.player import Player
from heft.drivers.errors import CommandError
from heft.identify.excitation.drawn_shapes import flange_path
from heft.identify.robot import Robot
from heft.service.operator_arming import OperatorArming

__all__ = ["Job", "Place", "planned_path"]

PATH_HZ = 10.0  # points of the path ahead
MOST_POINTS = 4000


@dataclass(frozen=True)
class Place:
    """Where jobs are done: the rig, its robot (None: its model cannot be read), the channels, the data folder."""

    rig: RigConfig
    robot: Robot | None
    endpoints: Endpoints
    data: Path
    arming: OperatorArming
    seed: int = 0


class Job(ABC):
    """`prepare` in a thread, then `run`, then `finish`; each raises what ends it.

    needs_rig   whether `run` wants the devices, or the channels of the bus, for itself
    """

    kind: str
    needs_rig: bool = True

    def __init__(self, place: Place, label: str) -> None:
        self.place, self.label = place, label
        #: For the page: the flange's way, where something moves; a drawn arm, where it is another than the rig's.
        self.path: dict[str, Any] | None = None
        self.scene: dict[str, Any] | None = None

    def prepare(self) -> None:  # noqa: B027 - most have nothing to check
        """Read and check all that can be refused before anything is opened."""

    @abstractmethod
    async def run(self) -> dict[str, Any]:
        """Do it; facts for whoever asked."""

    async def finish(self, facts: dict[str, Any]) -> dict[str, Any]:
        """What is left when the rig is free again."""
        return facts

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Let go of all; whatever happened."""

    @abstractmethod
    def stop(self, reason: str) -> None:
        """End it in order, from any moment on."""

    def pause(self) -> None:
        """Stand still; CommandError where it cannot."""
        raise CommandError(self.place.rig.name, f"{self.kind} cannot be paused; sessions and replays can")

    def resume(self) -> None:
        """Go on."""
        raise CommandError(self.place.rig.name, f"{self.kind} cannot be resumed; sessions and replays can")

    def seek(self, seconds: float) -> None:
        """Go on at another place [s]."""
        raise CommandError(self.place.rig.name, f"{self.kind} has no time line; replays have")

    def details(self) -> dict[str, Any]:
        """Further facts for the page."""
        return {}


def planned_path(robot: Robot, plan: Sequence[Leg]) -> dict[str, Any]:
    """The flange's way through a plan: points [m], and when each is reached by the session's own progress [s]."""
    total = sum(leg.seconds for leg in plan)
    step_s = max(1 / PATH_HZ, total / MOST_POINTS)
    seconds: list[float] = []
    points: list[list[float]] = []
    begin_s = 0.0
    for leg in plan:
        if leg.trajectory is None:
            begin_s += leg.seconds
            continue
        begin_s += Player.LEAD_NS * 1e-9
        every = max(1, round(step_s * leg.trajectory.rate_hz))
        done = 0
        for piece in leg.trajectory.pieces():
            first = -done % every
            chosen = piece.position[first::every]
            points += flange_path(robot, chosen)
            seconds += [
                round(begin_s + (done + first + k * every) / leg.trajectory.rate_hz, 3)
                for k in range(len(chosen))
            ]
            done += len(piece)
        begin_s += leg.seconds
    return {"seconds": seconds, "points": points}
