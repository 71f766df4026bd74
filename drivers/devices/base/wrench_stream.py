"""The stream of a six-axis F/T sensor."""

from __future__ import annotations

from heft.drivers.stream import Column, Stream

__all__ = ["wrench_stream"]


def wrench_stream(
    device: str,
    *,
    rate_hz: float,
    scale: tuple[float, float],
    dtype: str,
    frame: str,
    reaction: bool,
    raw_units: tuple[str, str] = ("count", "count"),
    tick_hz: float | None = None,
    tick_bits: int | None = None,
) -> Stream:
    """`DEVICE.wrench`: what the sensor exerts on its load, force then torque, in the frame named.

    scale      force [N] and torque [N m] of the device's own unit
    reaction   the device reports what the load does to it: the sign goes into the scale
    """
    sign = -1.0 if reaction else 1.0
    columns = tuple(
        Column(axis, quantity, unit, sign * value, raw_unit=raw_unit)
        for quantity, unit, value, raw_unit in (
            ("force", "N", scale[0], raw_units[0]),
            ("torque", "N m", scale[1], raw_units[1]),
        )
        for axis in "xyz"
    )
    return Stream(
        name=f"{device}.wrench",
        columns=columns,
        rate_hz=rate_hz,
        dtype=dtype,
        tick_hz=tick_hz,
        tick_bits=tick_bits,
        hold_s=1.0 / rate_hz,
        frame=frame,
    )
