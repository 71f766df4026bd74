"""Each fault on command, as the reader of the device sees it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from heft.drivers.block import Validity
from heft.drivers.errors import DeviceLost
from heft.drivers.plant.faults import Burst, Corrupt, Drop, Duplicate, Late, Saturate, Silence, Stuck
from heft.drivers.sim.world import WorldOptions

Make = Callable[..., Any]


async def watch(bench: Make, *faults: Any, seconds: float = 2.0, **encoders: Any) -> Any:
    b = bench().add("sim_encoders", "encoders", noise=0.01, **encoders).add("sim_wrench", "wrist", block=20)
    for fault in faults:
        b.inject(fault)
    return await b.run(lambda b: b.sleep(seconds))


def missing(b: Any, stream: str = "encoders.position") -> np.ndarray:
    """Lengths of the gaps in the sequence."""
    blocks = b.blocks[stream]
    gaps = np.array([y.sequence - x.next_sequence for x, y in pairwise(blocks)])
    assert (gaps >= 0).all()
    return gaps[gaps > 0]


def joined(b: Any, field: str, stream: str = "encoders.position") -> np.ndarray:
    return np.concatenate([getattr(block, field) for block in b.blocks[stream]])


async def test_drop(bench: Make) -> None:
    b = await watch(bench, Drop(device="encoders", rate=0.05), seconds=6.0, block=100)
    gaps, counters = missing(b), b.drivers["encoders"].counters
    assert counters.lost / (counters.lost + counters.received) == pytest.approx(0.05, rel=0.2)
    assert gaps.mean() == pytest.approx(1 / 0.95, rel=0.1)
    assert not missing(b, "wrist.wrench").size
    assert (joined(b, "validity") == Validity.OK).all()


async def test_burst(bench: Make) -> None:
    b = await watch(bench, Burst(device="encoders", rate=0.02, length=8), seconds=40.0, block=500)
    gaps, counters = missing(b), b.drivers["encoders"].counters
    assert counters.lost / (counters.lost + counters.received) == pytest.approx(0.02, rel=0.35)
    assert gaps.mean() == pytest.approx(8.0, rel=0.3)


async def test_short_silence_is_a_gap(bench: Make) -> None:
    b = await watch(bench, Silence(device="encoders", at_s=0.5, duration_s=0.1))
    assert missing(b).tolist() == pytest.approx([100], abs=1)
    assert not b.errors


async def test_long_silence_is_a_lost_device(bench: Make) -> None:
    b = await watch(bench, Silence(device="encoders", at_s=0.5))
    assert isinstance(b.errors["encoders"], DeviceLost)
    assert str(b.errors["encoders"]).startswith("encoders: silent for 0.2")
    assert b.times("encoders.position")[-1] < 0.5
    assert "wrist" not in b.errors


async def test_corrupt(bench: Make) -> None:
    b = await watch(bench, Corrupt(device="encoders", rate=0.1, at_s=0.5, duration_s=1.0))
    validity, t = joined(b, "validity"), b.times("encoders.position")
    bad = (validity == Validity.CORRUPT).all(axis=1)
    assert bad.sum() == pytest.approx(100, abs=35)
    assert bad.sum() == b.drivers["encoders"].counters.corrupt
    assert ((t[bad] >= 0.499) & (t[bad] < 1.501)).all()
    assert np.isnan(joined(b, "si")[bad]).all()
    assert np.abs(joined(b, "values")[bad]).max() > 1e5  # a flipped high bit is far away
    assert not missing(b).size


async def test_duplicate(bench: Make) -> None:
    b = await watch(bench, Duplicate(device="encoders", rate=0.1))
    assert b.drivers["encoders"].counters.duplicate == pytest.approx(200, abs=50)
    assert not missing(b).size
    assert len(np.unique(joined(b, "ticks"))) == len(joined(b, "ticks"))


async def test_stuck_counter(bench: Make) -> None:
    b = await watch(bench, Stuck(device="encoders", at_s=0.5, duration_s=0.3))
    stale = (joined(b, "validity") == Validity.STALE).all(axis=1)
    assert stale.sum() == pytest.approx(300, abs=1)
    assert len(np.unique(joined(b, "ticks")[stale])) == 1
    assert (np.diff(joined(b, "ticks")[~stale]) != 0).all()


async def test_saturate(bench: Make) -> None:
    b = await watch(bench, Saturate(device="wrist", column=2, at_s=0.5, duration_s=0.2))
    validity = joined(b, "validity", "wrist.wrench")
    assert (validity[:, 2] == Validity.SATURATED).sum() == pytest.approx(200, abs=1)
    assert (np.delete(validity, 2, axis=1) == Validity.OK).all()
    full_scale = joined(b, "values", "wrist.wrench")[validity[:, 2] == Validity.SATURATED, 2]
    np.testing.assert_array_equal(full_scale, 200_000)


async def test_late(bench: Make) -> None:
    b = await watch(bench, Late(device="encoders", delay_s=0.15, at_s=0.5, duration_s=0.1))
    t = b.times("encoders.position")
    late = (joined(b, "host_ns") - b.world.start_ns) * 1e-9 - t
    inside = (t > 0.5005) & (t < 0.5995)
    assert late[inside].min() > 0.149
    assert late[t < 0.499].max() < 0.01
    assert late[t > 0.76].max() < 0.01
    assert (np.diff(joined(b, "host_ns")) >= 0).all()  # those that follow wait behind
    assert not missing(b).size


async def test_a_fault_can_come_while_it_runs(bench: Make) -> None:
    b = bench().add("sim_encoders", "encoders")

    async def script(b: Any) -> None:
        await b.sleep(0.5)
        b.inject(Silence(device="encoders", at_s=0.5, duration_s=0.1))
        await b.sleep(0.5)

    await b.run(script)
    assert 85 <= missing(b).sum() <= 101  # a block that was on its way is not touched


def test_the_rigs_file_says_which(bench: Make) -> None:
    options = WorldOptions.model_validate(
        {
            "faults": [
                {"kind": "late", "device": "wrist", "delay_s": 0.1},
                {"kind": "stuck", "device": "arm", "at_s": 3},
            ]
        }
    )
    assert options.faults == (Late(device="wrist", delay_s=0.1), Stuck(device="arm", at_s=3.0))
    with pytest.raises(ValidationError, match="does not match any of the expected tags"):
        WorldOptions.model_validate({"faults": [{"kind": "boom", "device": "wrist"}]})
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        WorldOptions.model_validate({"faults": [{"kind": "silence", "device": "wrist", "rate": 0.1}]})
