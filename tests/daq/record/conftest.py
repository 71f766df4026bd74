"""Streams of a small rig, and Blocks of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream

JOINTS = tuple(f"joint{i}" for i in range(1, 8))


@pytest.fixture
def motion() -> Stream:
    """Seven positions in counts, then seven velocities."""
    positions = tuple(Column(j, "position", "rad", 2 * np.pi / 2**19, 0.1, "count") for j in JOINTS)
    velocities = tuple(Column(j, "velocity", "rad/s", 1e-4) for j in JOINTS)
    return Stream("arm.motion", positions + velocities, 1000.0, "<i4", tick_hz=1e6, tick_bits=32)


@pytest.fixture
def current() -> Stream:
    return Stream(
        "arm.current", tuple(Column(j, "current", "A", 1e-3, 0.0, "mA") for j in JOINTS), 1000.0, "<i2"
    )


@pytest.fixture
def wrench() -> Stream:
    columns = tuple(Column(a, q, u) for q, u in (("force", "N"), ("torque", "N m")) for a in "xyz")
    return Stream("wrist.wrench", columns, 1000.0, frame="wrist_frame")


@pytest.fixture
def make_block() -> Callable[..., Block]:
    def make(stream: Stream, first: int = 0, n: int = 10, *, bad: bool = False) -> Block:
        """Samples `first ..` at 1 kHz from 1 s on; the numbers follow from the stream's name and `first`."""
        rng = np.random.default_rng([first, *stream.name.encode()])
        validity = np.zeros((n, stream.width), np.uint8)
        if bad:
            validity[n // 2, 0] = 1
        sequence = np.arange(first, first + n)
        return Block(
            stream,
            first,
            1_000_000_000 + sequence * 1_000_000,
            rng.integers(-1000, 1000, (n, stream.width)).astype(stream.dtype),
            validity,
            None,
            sequence * 1000 if stream.tick_hz else None,
        )

    return make
