"""How samples are cut into Blocks says nothing about them: digest and columns are the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from heft.daq.record import Writer
from heft.daq.recording import Recording
from heft.drivers.block import Block

if TYPE_CHECKING:
    from tests.daq.recording.conftest import Sample


def pieces(block: Block, rng: np.random.Generator) -> list[Block]:
    """The same samples in Blocks of random lengths."""
    edges = np.unique([0, len(block), *rng.integers(0, len(block) + 1, rng.integers(0, 4))])
    return [
        replace(
            block,
            sequence=block.sequence + int(a),
            host_ns=block.host_ns[a:b],
            values=block.values[a:b],
            validity=block.validity[a:b],
            request_ns=None if block.request_ns is None else block.request_ns[a:b],
            ticks=None if block.ticks is None else block.ticks[a:b],
        )
        for a, b in pairwise(edges)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_cuts_do_not_show(sample: Sample, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = tmp_path / "cut.mcap"
    original = Recording.open(sample.path)
    with path.open("wb", buffering=0) as raw:
        writer = Writer(raw, original.utc_offset_ns)
        for name, stream in original.streams.items():
            writer.describe(stream)
            for block in original.blocks(name):
                for piece in pieces(block, rng):
                    writer.block(piece)
        writer.finish()
    cut = Recording.open(path)
    assert cut.recovery.ok
    assert cut.digest == original.digest
    for name in original.streams:
        mine, its = original.columns(name), cut.columns(name)
        for array in ("sequence", "host_ns", "values", "validity", "request_ns", "ticks"):
            np.testing.assert_array_equal(getattr(mine, array), getattr(its, array))


def test_a_changed_time_tick_or_validity_shows(sample: Sample, tmp_path: Path) -> None:
    original = Recording.open(sample.path)
    digests = {original.digest}
    for change in ("host_ns", "request_ns", "ticks", "values", "validity", "sequence"):
        path = tmp_path / f"{change}.mcap"
        with path.open("wb", buffering=0) as raw:
            writer = Writer(raw, original.utc_offset_ns)
            for name, stream in original.streams.items():
                writer.describe(stream)
                for index, block in enumerate(original.blocks(name)):
                    if name == "arm.motion" and index == 30:
                        block = replace(block, **{change: getattr(block, change) + 1})
                    writer.block(block)
            writer.finish()
        digests.add(Recording.open(path).digest)
    assert len(digests) == 7
