"""Wrist motions of an armed rig begin for as long as it is armed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from heft.daq.config.rig import load_rig
from heft.daq.config.shipped import CONFIGS
from heft.drivers.stream import Column, Stream
from heft.payload_motion import WristMotions

GRIPPER = Stream("gripper.state", (Column("object", "detected", ""),), 50.0)


class Standby:
    """Plays what is asked for as soon as it is asked."""

    rate_hz = 1000.0

    def __init__(self) -> None:
        self.config = load_rig(Path(CONFIGS / "rigs" / "sim_wam7.yaml"))
        self.played = 0

    async def play(self, make: Any) -> bool:
        make(np.zeros(len(self.config.limits.velocity)))
        self.played += 1
        return True


async def test_a_rig_that_was_disarmed_meanwhile_moves_no_more() -> None:
    standby, said, refusal = Standby(), list[str](), ""
    process = SimpleNamespace(lacks_hand=False)
    motions = WristMotions(standby, process, GRIPPER, said.append, lambda: refusal)  # type: ignore[arg-type]
    for number in (1, 2):
        motions.update(SimpleNamespace(end=None, number=number, source="gripper"))  # type: ignore[arg-type]
        await asyncio.gather(*motions._playing)
        refusal = "not armed any more; arm it again"
    assert standby.played == 1
    assert said == ["the wrist motion may not be played from here: not armed any more; arm it again"]
