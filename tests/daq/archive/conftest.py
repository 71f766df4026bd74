"""A stream, and Blocks of it that are small enough to count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from drivers import Block, Column, Stream

MakeBlock = Callable[..., Block]


@pytest.fixture
def stream() -> Stream:
    return Stream("arm.motion", (Column("joint1", "position", "rad"),), 1000.0, tick_hz=1e6, tick_bits=32)


@pytest.fixture
def make_block(stream: Stream) -> MakeBlock:
    """`make_block(n)`: the n-th Block of ten samples."""

    def make(number: int, of: Stream = stream) -> Block:
        index = np.arange(10 * number, 10 * number + 10, dtype=np.int64)
        values = np.random.default_rng(number).normal(size=(10, 1))
        validity = np.zeros((10, 1), np.uint8)
        return Block(of, 10 * number, index * 1_000_000, values, validity, ticks=index * 1000)

    return make
