"""A stream, its blocks, and endpoints that are gone after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from heft.daq.bus import Endpoints, private_endpoints
from heft.drivers import Block, Column, Stream

MakeBlock = Callable[..., Block]


@pytest.fixture
def endpoints() -> Iterator[Endpoints]:
    with private_endpoints() as endpoints:
        yield endpoints


@pytest.fixture
def stream() -> Stream:
    quantities = (("position", "rad"), ("velocity", "rad/s"))
    columns = tuple(Column(f"joint{j}", q, unit) for q, unit in quantities for j in range(1, 8))
    return Stream("arm.motion", columns, rate_hz=1000.0, tick_hz=1e6, tick_bits=32)


@pytest.fixture
def make_block(stream: Stream) -> MakeBlock:
    """`make_block(sequence, samples)`: its times follow from its sequence number, 1 ms each."""

    def make(sequence: int = 0, samples: int = 10) -> Block:
        index = np.arange(sequence, sequence + samples, dtype=np.int64)
        values = np.random.default_rng(sequence).normal(size=(samples, stream.width))
        validity = np.zeros((samples, stream.width), np.uint8)
        validity[0, 0] = 1
        return Block(stream, sequence, index * 1_000_000, values, validity, ticks=index * 1000)

    return make
