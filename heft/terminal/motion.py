"""What is going to move, how far and how fast: for the operator, before it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from heft.daq.config.rig import RigConfig
from heft.daq.config.robot import JointConfig
from heft.daq.motion.plan import Leg
from heft.drivers.registry import KINDS

__all__ = ["describe_devices", "describe_plan"]


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


def describe_plan(plan: Sequence[Leg], joints: Mapping[str, JointConfig], console: Console) -> None:
    """Every leg, then every joint over all of them: from, range, peak velocity and acceleration, and its limits."""
    legs = Table(box=None, pad_edge=False)
    legs.add_column("step")
    for column in ("seconds", "fastest joint", "rad/s", "of limit"):
        legs.add_column(column, justify="right")
    limits = np.array([joint.velocity for joint in joints.values()])
    for leg in plan:
        name = "move to start" if leg.step is None else leg.step.name
        if leg.trajectory is None:
            doing = "" if leg.step is None else leg.step.description
            legs.add_row(name, f"{leg.seconds:.1f}" if leg.seconds else "", doing, "", "")
            continue
        peak = np.abs(leg.trajectory.velocity).max(axis=0)
        worst = int((peak / limits).argmax())
        share = f"{100 * peak[worst] / limits[worst]:.0f} %"
        legs.add_row(name, f"{leg.seconds:.1f}", leg.trajectory.axes[worst], f"{peak[worst]:.2f}", share)
    console.print()
    console.print(legs)
    moves = [leg.trajectory for leg in plan if leg.trajectory is not None]
    console.print(f"{sum(leg.seconds for leg in plan):.1f} s in all\n")
    if not moves:
        return
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
    ):
        table.add_column(column, justify="right")
    lowest = np.min([move.position.min(axis=0) for move in moves], axis=0)
    highest = np.max([move.position.max(axis=0) for move in moves], axis=0)
    fastest = np.max([np.abs(move.velocity).max(axis=0) for move in moves], axis=0)
    hardest = np.max([np.abs(move.acceleration).max(axis=0) for move in moves], axis=0)
    for i, (name, joint) in enumerate(joints.items()):
        numbers = (moves[0].position[0, i], moves[0].position[-1, i], lowest[i], highest[i])
        table.add_row(
            name,
            *(f"{number:.3f}" for number in numbers),
            f"{joint.position[0]:g} {joint.position[1]:g}",
            f"{fastest[i]:.2f}",
            f"{joint.velocity:g}",
            f"{hardest[i]:.2f}",
            f"{joint.acceleration:g}",
        )
    console.print(table)
    console.print()
