"""The stream of setpoints as a drive took them up."""

from __future__ import annotations

from collections.abc import Sequence

from heft.drivers.stream import Column, Role, Stream

__all__ = ["played_stream"]


def played_stream(
    device: str,
    axes: Sequence[str],
    rate_hz: float,
    *,
    tick_hz: float | None = None,
    tick_bits: int | None = None,
) -> Stream:
    """`DEVICE.played`: n positions [rad], n velocities [rad/s], n accelerations [rad/s2] in force at each sample."""
    units = {"position": "rad", "velocity": "rad/s", "acceleration": "rad/s2"}
    columns = tuple(Column(axis, quantity, unit) for quantity, unit in units.items() for axis in axes)
    return Stream(
        f"{device}.played", columns, rate_hz, role=Role.PLAYED, tick_hz=tick_hz, tick_bits=tick_bits
    )
