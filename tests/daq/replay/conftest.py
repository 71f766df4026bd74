"""A short recording as a session leaves it: two streams, events, a file and notes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from heft.daq.record import Writer
from heft.drivers import Block, Column, Stream

START_NS = 5_000_000_000
MOTION = Stream("arm.motion", (Column("joint1", "position", "rad"),), 1000.0, tick_hz=1e6, tick_bits=32)
WRENCH = Stream("wrist.wrench", (Column("x", "force", "N"),), 500.0)
SILENT = Stream("hand.state", (Column("finger", "position", "m"),), 100.0)
STATES = [(0, "connected"), (100, "moving"), (1900, "stopping"), (1990, "done")]


def block_of(stream: Stream, number: int, step_ns: int) -> Block:
    """The n-th Block of ten samples."""
    index = np.arange(10 * number, 10 * number + 10, dtype=np.int64)
    values = np.random.default_rng([number, len(stream.name)]).normal(size=(10, 1))
    ticks = index * 1000 if stream is MOTION else None
    return Block(
        stream, 10 * number, START_NS + index * step_ns, values, np.zeros((10, 1), np.uint8), ticks=ticks
    )


@pytest.fixture(scope="session")
def write_session() -> object:
    def write(path: Path, *, finish: bool = True) -> Path:
        """Two seconds; Block 50 of the motion is missing."""
        with path.open("xb", buffering=0) as raw:
            writer = Writer(raw, 123)
            writer.attach("configuration/robot.yaml", "text/yaml", 0, b"name: x\n")
            writer.note("software", {"name": "heft"})
            for stream in (MOTION, WRENCH, SILENT):
                writer.describe(stream)
            for t_ms, state in STATES:
                t_ns = START_NS + t_ms * 1_000_000
                if state == "moving":  # told ahead of its time
                    facts = {
                        "t_ns": t_ns + 200_000_000,
                        "name": "segment_start",
                        "segment": "sway",
                        "use": "motion",
                    }
                    writer.event(facts["t_ns"], json.dumps(facts))  # type: ignore[arg-type]
                text = json.dumps({"t_ns": t_ns, "name": "state", "state": state, "reason": ""})
                writer.event(t_ns, text)
            for number in range(200):
                if number != 50:
                    writer.block(block_of(MOTION, number, 1_000_000))
                if number % 2:
                    writer.block(block_of(WRENCH, number // 2, 2_000_000))
                if number % 40 == 39:
                    writer.flush()
            if finish:
                writer.finish()
        return path

    return write


@pytest.fixture
def session(write_session: object, tmp_path: Path) -> Path:
    return write_session(tmp_path / "short.mcap")  # type: ignore[operator,no-any-return]
