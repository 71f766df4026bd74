"""A small recording of many chunks, and what is in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

from heft.daq.record import writer as writer_module
from heft.daq.record.codec import encode
from heft.daq.record.writer import Writer
from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream

MOTION = Stream(
    "arm.motion",
    tuple(Column(f"joint{i}", "position", "rad", 1e-3, 0.5, "count") for i in (1, 2))
    + tuple(Column(f"joint{i}", "velocity", "rad/s") for i in (1, 2)),
    1000.0,
    "<i4",
    tick_hz=1e6,
    tick_bits=32,
)
WRENCH = Stream(
    "wrist.wrench",
    tuple(Column(a, q, u) for q, u in (("force", "N"), ("torque", "N m")) for a in "xyz"),
    1000.0,
    frame="wrist",
)
SILENT = Stream("hand.state", (Column("finger", "position", "m"),), 100.0)


def block_of(stream: Stream, first: int, n: int = 10) -> Block:
    rng = np.random.default_rng([first, *stream.name.encode()])
    sequence = np.arange(first, first + n)
    validity = np.zeros((n, stream.width), np.uint8)
    if first % 70 == 0:
        validity[3, 1] = 2
    return Block(
        stream,
        first,
        1_000_000_000 + sequence * 1_000_000 + rng.integers(0, 200_000, n),
        rng.integers(-1000, 1000, (n, stream.width)).astype(stream.dtype),
        validity,
        sequence * 1_000_000 if stream is MOTION else None,
        (sequence * 1000) % 2**32 if stream is MOTION else None,
    )


@dataclass
class Sample:
    """A recording, and the Blocks that were written, by stream and encoded."""

    path: Path
    blocks: dict[str, list[Block]]

    @cached_property
    def encoded(self) -> dict[str, set[bytes]]:
        return {name: {encode(b) for b in blocks} for name, blocks in self.blocks.items()}


@pytest.fixture(scope="session")
def write_sample() -> Callable[..., Sample]:
    def write(
        path: Path, *, count: int = 60, lost: tuple[int, ...] = (20, 21, 40), chunk: int = 2_500
    ) -> Sample:
        """`count` Blocks of 10 samples of two streams; of the first, the Blocks numbered `lost` are missing."""
        blocks: dict[str, list[Block]] = {"arm.motion": [], "wrist.wrench": [], "hand.state": []}
        with pytest.MonkeyPatch.context() as patch, path.open("wb", buffering=0) as raw:
            patch.setattr(writer_module, "CHUNK_BYTES", chunk)
            writer = Writer(raw, 10**18)
            writer.describe(SILENT)
            writer.attach("robot.yaml", "application/yaml", 0, b"name: arm\n" * 20)
            for i in range(count):
                for stream in (MOTION, WRENCH):
                    if stream is WRENCH or i not in lost:
                        block = block_of(stream, 10 * i)
                        writer.block(block)
                        blocks[stream.name].append(block)
                if i % 20 == 0:
                    t_ns = 1_000_000_000 + i * 10_000_000
                    facts = {
                        "t_ns": t_ns,
                        "name": "segment_start",
                        "segment": f"part{i}",
                        "use": "validation",
                    }
                    writer.event(t_ns, json.dumps(facts))
                    writer.note(f"note{i}", {"value": str(i)})
                if i % 20 == 15 and i < 50:
                    t_ns = 1_000_000_000 + i * 10_000_000
                    facts = {"t_ns": t_ns, "name": "segment_end", "segment": f"part{i - 15}"}
                    writer.event(t_ns, json.dumps(facts))
            writer.finish()
        return Sample(path, blocks)

    return write


@pytest.fixture(scope="session")
def sample(write_sample: Callable[..., Sample], tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return write_sample(tmp_path_factory.mktemp("recording") / "sample.mcap")
