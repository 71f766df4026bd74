"""What is going to move, how far and how fast: for the operator, before it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from heft.daq.config.rig import RigConfig
from heft.daq.config.robot import JointConfig
from heft.daq.motion.plan import Leg
from heft.daq.trajectory.trajectory import Motion
from heft.drivers.registry import KINDS

__all__ = ["Outlook", "describe_devices", "describe_plan", "plan_facts"]


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What a plan will do: lowest point above the mounting plane and closest approach [m], peak torques [N m] (n,)."""

    lowest_m: float | None
    lowest_part: str
    closest_m: float | None
    closest_parts: str
    torque: NDArray[np.float64] | None

    def to_dict(self, joints: Sequence[str]) -> dict[str, Any]:
        """As JSON values."""
        return {
            "lowest_point": None if self.lowest_m is None else {"m": self.lowest_m, "part": self.lowest_part},
            "closest_approach": None
            if self.closest_m is None
            else {"m": self.closest_m, "between": self.closest_parts},
            "peak_torque": None
            if self.torque is None
            else dict(zip(joints, self.torque.tolist(), strict=True)),
        }


def describe_devices(rig: RigConfig, movers: Sequence[str], console: Console) -> None:
    """A line for every device: what it is, where, and whether it moves something real."""
    console.print(f"\nThis moves a real robot: {rig.robot.name}, rig {rig.name} ({rig.path})\n")
    table = Table("device", "kind", "where", "", box=None, pad_edge=False)
    for name, device in rig.devices.items():
        role = "moves" if name in movers else "" if name in rig.real else "not real"
        table.add_row(name, device.kind, _where(rig, name), role)
    console.print(table)


def _where(rig: RigConfig, name: str) -> str:
    device = rig.devices[name]
    keys = KINDS[device.kind].port or ("interface", "channel")
    parts = [str(value) for key in keys if (value := getattr(device.options, key, None)) is not None]
    return " ".join((KINDS[device.kind].transport, *parts)) if name in rig.real else ""


@dataclass(frozen=True, slots=True, eq=False)
class _Extent:
    """How far a motion goes, and how fast, each of shape (n,)."""

    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    velocity: NDArray[np.float64]
    acceleration: NDArray[np.float64]

    @classmethod
    def of(cls, motion: Motion) -> Self:
        found = [
            (
                p.position.min(axis=0),
                p.position.max(axis=0),
                abs(p.velocity).max(axis=0),
                abs(p.acceleration).max(axis=0),
            )
            for p in motion.pieces()
        ]
        lowest, highest, velocity, acceleration = (np.array(column) for column in zip(*found, strict=True))
        return cls(lowest.min(axis=0), highest.max(axis=0), velocity.max(axis=0), acceleration.max(axis=0))


def describe_plan(
    plan: Sequence[Leg],
    joints: Mapping[str, JointConfig],
    console: Console,
    outlook: Outlook | None = None,
) -> None:
    """Every leg, then every joint over all of them: from, range, peak velocity and acceleration, and its limits; with
    an `outlook` also peak torques, the lowest point and the closest approach."""
    legs = Table(box=None, pad_edge=False)
    legs.add_column("step")
    for column in ("seconds", "fastest joint", "rad/s", "of limit"):
        legs.add_column(column, justify="right")
    limits = np.array([joint.velocity for joint in joints.values()])
    extents = {leg.trajectory: _Extent.of(leg.trajectory) for leg in plan if leg.trajectory is not None}
    for leg in plan:
        name = "move to start" if leg.step is None else leg.step.name
        if leg.trajectory is None:
            doing = "" if leg.step is None else leg.step.description
            legs.add_row(name, f"{leg.seconds:.1f}" if leg.seconds else "", doing, "", "")
            continue
        peak = extents[leg.trajectory].velocity
        worst = int((peak / limits).argmax())
        share = f"{100 * peak[worst] / limits[worst]:.0f} %"
        legs.add_row(name, f"{leg.seconds:.1f}", leg.trajectory.axes[worst], f"{peak[worst]:.2f}", share)
    console.print()
    console.print(legs)
    moves = [leg.trajectory for leg in plan if leg.trajectory is not None]
    console.print(f"{sum(leg.seconds for leg in plan):.1f} s in all\n")
    if not moves:
        return
    torque = None if outlook is None else outlook.torque
    table = Table(box=None, pad_edge=False)
    table.add_column("joint")
    for column in (
        "from rad",
        "first to",
        "lowest",
        "highest",
        "limits",
        "rad/s",
        "limit",
        "rad/s2",
        "limit",
        *(("N m", "limit") if torque is not None else ()),
    ):
        table.add_column(column, justify="right")
    lowest = np.min([extents[move].lowest for move in moves], axis=0)
    highest = np.max([extents[move].highest for move in moves], axis=0)
    fastest = np.max([extents[move].velocity for move in moves], axis=0)
    hardest = np.max([extents[move].acceleration for move in moves], axis=0)
    for i, (name, joint) in enumerate(joints.items()):
        numbers = (moves[0].start.position[0, i], moves[0].goal.position[0, i], lowest[i], highest[i])
        table.add_row(
            name,
            *(f"{number:.3f}" for number in numbers),
            f"{joint.position[0]:g} {joint.position[1]:g}",
            f"{fastest[i]:.2f}",
            f"{joint.velocity:g}",
            f"{hardest[i]:.2f}",
            f"{joint.acceleration:g}",
            *((f"{torque[i]:.2f}", f"{joint.torque:g}") if torque is not None else ()),
        )
    console.print(table)
    if outlook is not None and outlook.lowest_m is not None:
        console.print(
            f"lowest point: {outlook.lowest_part}, {outlook.lowest_m:.3f} m above the mounting plane"
        )
    if outlook is not None and outlook.closest_m is not None:
        console.print(f"closest approach: {outlook.closest_parts}, {outlook.closest_m:.3f} m")
    console.print()


def plan_facts(
    plan: Sequence[Leg], joints: Mapping[str, JointConfig], outlook: Outlook | None = None
) -> dict[str, Any]:
    """The same as plain JSON values: every leg; of every joint its range and peaks beside the limits; the outlook."""
    moves = [leg.trajectory for leg in plan if leg.trajectory is not None]
    extents = [_Extent.of(move) for move in moves]
    rows = {
        name: {
            "from": float(moves[0].start.position[0, i]),
            "lowest": float(min(one.lowest[i] for one in extents)),
            "highest": float(max(one.highest[i] for one in extents)),
            "limits": list(joint.position),
            "velocity": float(max(one.velocity[i] for one in extents)),
            "velocity_limit": joint.velocity,
            "acceleration": float(max(one.acceleration[i] for one in extents)),
            "acceleration_limit": joint.acceleration,
            "torque": None if outlook is None or outlook.torque is None else float(outlook.torque[i]),
            "torque_limit": joint.torque,
        }
        for i, (name, joint) in enumerate(joints.items())
        if moves
    }
    return {
        "legs": [
            {
                "step": None if leg.step is None else leg.step.name,
                "seconds": leg.seconds,
                "moves": leg.trajectory is not None,
            }
            for leg in plan
        ],
        "seconds": sum(leg.seconds for leg in plan),
        "joints": rows,
        **({} if outlook is None else outlook.to_dict(tuple(joints))),
    }
