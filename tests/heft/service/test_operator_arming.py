"""Arming of a rig that a service owns."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from heft.daq.config.rig import load_rig
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError, SafetyStop
from heft.service.operator_arming import OperatorArming


class Now:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def real(**options: float) -> tuple[OperatorArming, Now]:
    now = Now()
    rig = load_rig(Path(CONFIGS / "rigs" / "example_cia402.yaml"))
    return OperatorArming(rig, now, **options), now


async def test_a_simulated_rig_needs_nobody() -> None:
    arming = OperatorArming(load_rig(CONFIGS / "rigs" / "sim_wam7.yaml"), Now())
    await arming.confirm([])
    assert arming.movers == ()


async def test_a_typed_name_holds_for_a_limited_time() -> None:
    arming, now = real(window_s=60.0, wait_s=0.05)
    name = arming._rig.robot.name
    with pytest.raises(ConfigError, match=f"this robot's name is {name}; not armed"):
        arming.arm("somebody", "at the terminal")
    assert arming.seconds_left == 0
    arming.arm(f" {name}\n", "at the terminal")
    await arming.confirm([])
    now.seconds += 61.0
    assert arming.seconds_left == 0
    with pytest.raises(SafetyStop, match="nobody typed the robot's name"):
        await arming.confirm([])


async def test_a_plan_waits_for_the_name() -> None:
    arming, _ = real(wait_s=30.0)
    waiting = asyncio.create_task(arming.confirm([]))
    while arming.pending is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert arming.pending["movers"] == list(arming.movers)
    arming.arm(arming._rig.robot.name, "on the page")
    await waiting
    assert arming.pending is None


async def test_a_position_that_may_be_relative_is_looked_at_now() -> None:
    arming, _ = real(wait_s=0.05)
    arming.arm(arming._rig.robot.name, "at the terminal")
    with pytest.raises(SafetyStop):
        await arming.confirm([], {"joint1": "it counts from where it was switched on"})
    arming.disarm()
    assert arming.seconds_left == 0


async def test_who_disarms_in_the_same_moment_has_the_last_word() -> None:
    arming, _ = real(wait_s=0.2)
    waiting = asyncio.create_task(arming.confirm([]))
    while arming.pending is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    arming.arm(arming._rig.robot.name, "on the page")
    arming.disarm()
    with pytest.raises(SafetyStop, match="nobody typed the robot's name"):
        await waiting


def test_what_was_announced_may_not_begin_when_it_is_not_armed_any_more() -> None:
    arming, now = real(window_s=60.0)
    assert arming.refusal().startswith("not armed any more")
    arming.arm(arming._rig.robot.name, "at the terminal")
    assert arming.refusal() == ""
    now.seconds += 61.0
    assert arming.refusal().endswith("arm it again")
    arming.arm(arming._rig.robot.name, "at the terminal")
    arming.disarm()
    assert arming.refusal().endswith("arm it again")
