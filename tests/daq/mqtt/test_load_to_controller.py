"""`heft payload --live --apply` on the emulated UR10e: its controller holds hand and object, and the hand again."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from typing import Any

import numpy as np
import pytest

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording

SESSION = CONFIGS / "sessions" / "pick_and_weigh_ur10e.yaml"


@pytest.mark.slow
@pytest.mark.alone
async def test_the_controller_holds_hand_and_object_a_second_after_the_wrist_has_moved(tmp_path):
    out = tmp_path / "out"
    command = ("-m", "heft", "payload", "--live", str(SESSION), "--apply", "--json", "--out", str(out))
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=-1, stderr=-1)
    try:
        async with asyncio.timeout(100):
            said, errors = await process.communicate()
    except TimeoutError:
        process.send_signal(signal.SIGINT)
        said, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    lines: list[dict[str, Any]] = [json.loads(line) for line in said.splitlines()]
    applied = [facts for facts in lines if facts["schema"] == "heft.applied"]
    assert applied[-1]["event"] == "restored", applied
    assert applied[-1]["load"]["mass"] == 0.925  # as its operator had set it
    moved_ns = next(
        one.end_ns
        for one in Recording.open(out / "pick_and_weigh_ur10e.mcap").segments
        if one.name == "weigh the block"
    )
    told = [
        facts
        for facts in applied
        if facts["event"] == "applied" and facts["t_ns"] <= moved_ns + 1_000_000_000
    ]
    load = told[-1]["load"]
    truth = json.loads(next(out.glob("*.truth.json")).read_text())
    hand, block = truth["hand"], truth["payloads"][0]
    mass = hand["mass"] + block["mass"]
    com = (hand["mass"] * np.array(hand["com"]) + block["mass"] * np.array(block["com"])) / mass
    assert load["mass"] == pytest.approx(mass, rel=0.01)
    assert load["com"] == pytest.approx(com, abs=0.01 * np.linalg.norm(com))
