"""Setpoints as a stream: what the session sent and what the drive took up are recorded like any measurement."""

from __future__ import annotations

import numpy as np

from heft.drivers.block import Block
from heft.drivers.setpoints import Setpoints
from heft.drivers.stream import Column, Role, Stream

__all__ = ["sent_block", "sent_stream"]

_UNITS = {"position": "rad", "velocity": "rad/s", "acceleration": "rad/s2"}


def sent_stream(device: str, axes: tuple[str, ...], rate_hz: float) -> Stream:
    """Description of the stream `<device>.sent`: all positions, then velocities, then accelerations."""
    columns = tuple(Column(axis, quantity, unit) for quantity, unit in _UNITS.items() for axis in axes)
    return Stream(f"{device}.sent", columns, rate_hz, role=Role.SENT)


def sent_block(stream: Stream, chunk: Setpoints) -> Block:
    """A chunk of setpoints as a block; its host times are when each setpoint is due."""
    values = np.hstack([chunk.position, chunk.velocity, chunk.acceleration])
    return Block(stream, chunk.sequence, chunk.host_ns, values, np.zeros(values.shape, dtype=np.uint8))
