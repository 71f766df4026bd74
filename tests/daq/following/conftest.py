"""A recording in the making, which a test writes to, and a source that serves it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from heft.daq.bus import Endpoint
from heft.daq.following.client import FollowClient
from heft.daq.following.source import Source
from heft.daq.record import Writer
from heft.drivers import Block, Column, Stream

STREAM = Stream("arm.motion", (Column("joint1", "position", "rad"),), 1000.0, tick_hz=1e6, tick_bits=32)


def block_of(number: int) -> Block:
    """The n-th Block of ten samples."""
    index = np.arange(10 * number, 10 * number + 10, dtype=np.int64)
    values = np.random.default_rng(number).normal(size=(10, 1))
    return Block(
        STREAM, 10 * number, index * 1_000_000, values, np.zeros((10, 1), np.uint8), ticks=index * 1000
    )


class Growing:
    """`short.mcap.partial`, written to in this thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._raw = path.open("xb", buffering=0)
        self.writer = Writer(self._raw, 77)
        self._blocks = 0

    def write(self, count: int) -> bytes:
        """So many more Blocks; the whole file."""
        for _ in range(count):
            self.writer.block(block_of(self._blocks))
            self._blocks += 1
        self.writer.flush()
        return self.path.read_bytes()

    def finish(self) -> bytes:
        """The whole file, finished and renamed."""
        self.writer.finish()
        self._raw.close()
        self.path = self.path.rename(self.path.with_suffix(""))
        return self.path.read_bytes()

    def close(self) -> None:
        self._raw.close()


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    growing = Growing(tmp_path / "short.mcap.partial")
    yield growing
    growing.close()


@pytest_asyncio.fixture
async def source(tmp_path: Path) -> AsyncIterator[Source]:
    """Before its recording is there."""
    async with Source(Endpoint.parse(f"ipc://{tmp_path}/telemetry"), "short", 77) as source:
        yield source


@pytest_asyncio.fixture
async def client(source: Source) -> AsyncIterator[FollowClient]:
    async with FollowClient(source.server.endpoint, "worker", timeout_s=5.0) as client:
        yield client
