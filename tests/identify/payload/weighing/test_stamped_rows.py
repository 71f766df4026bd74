"""Rows without a stamp are not weighed, neither from a recording nor live; and a recording is opened once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.recording import Columns, Recording
from heft.daq.recording import recording as recording_module
from heft.drivers.block import Block, Validity
from heft.exit_codes import ExitCode
from heft.identify.data.recorded_robot import robot_of
from heft.identify.payload.weighing.live import LivePayload
from heft.identify.payload.weighing.recorded_pickups import weigh_recording
from heft.main import main

pytestmark = pytest.mark.xdist_group("hammer")

#: Of each code, one row of the wrench every so many samples.
EVERY = 97


def spoiled(block: Block) -> Block:
    """Rows that are stale, corrupt or a duplicate in one column, with wild values and ticks in all of them."""
    values, validity = block.values.copy(), block.validity.copy()
    assert block.ticks is not None
    ticks = block.ticks.copy()
    for k, code in enumerate((Validity.STALE, Validity.CORRUPT, Validity.DUPLICATE)):
        rows = (np.arange(block.sequence, block.next_sequence) - 30 * k) % EVERY == 0
        validity[rows, k] = code
        values[rows] = 30_000
        ticks[rows] = 5
    return replace(block, values=values, validity=validity, ticks=ticks)


class SpoiledRecording(Recording):
    """A recording whose wrist sensor repeats itself and mumbles, and whose blocks have lost their ticks once."""

    def blocks(self, name: str, *limits: Any) -> Any:
        for number, block in enumerate(super().blocks(name, *limits)):
            if name != "wrist.wrench":
                yield block
            else:
                yield replace(spoiled(block), ticks=None) if number == 40 else spoiled(block)

    def columns(self, name: str, *limits: Any) -> Columns:
        return Columns.of(self.streams[name], self.blocks(name, *limits))


def test_they_do_not_move_the_answer(hammer: Any) -> None:
    whole = weigh_recording(Recording.open(hammer.file)).to_dict()
    without = weigh_recording(SpoiledRecording.open(hammer.file)).to_dict()
    (before,), (after,) = whole["payloads"], without["payloads"]
    assert after["mass"] == pytest.approx(before["mass"], abs=0.3 * before["std"]["mass"])
    assert after["com"] == pytest.approx(before["com"], abs=2e-4)
    assert without["hand"]["mass"] == pytest.approx(whole["hand"]["mass"], rel=2e-3)


@pytest.mark.slow
def test_live_neither(hammer: Any) -> None:
    recording = SpoiledRecording.open(hammer.file)
    live = LivePayload(recording.streams, robot_of(recording))
    every = [block for name in recording.streams for block in recording.blocks(name)]
    pickups = []
    for block in sorted(every, key=lambda block: int(block.host_ns[-1])):
        pickups += live.take([block])
    assert {pickup.number for pickup in pickups} == {1}
    assert pickups[-1].latest is not None
    assert pickups[-1].latest.estimate.mass == pytest.approx(hammer.truth["payloads"][0]["mass"], rel=0.01)


@pytest.mark.parametrize("bare", [False, True])
def test_a_recording_is_opened_once(hammer: Any, bare: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    opens: Counter[Path] = Counter()
    read = recording_module._contents

    def counted(path: Path, *arguments: Any) -> Any:
        opens[path] += 1
        return read(path, *arguments)

    monkeypatch.setattr(recording_module, "_contents", counted)
    more = ["--bare", str(hammer.file)] if bare else []
    assert main(["payload", str(hammer.file), *more]) == ExitCode.DONE
    assert opens == {hammer.file: 1}
