"""A rig that stands by, armed and not; events from outside look at the weight and move nothing."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from typing import Any

import numpy as np
import pytest

from daq.bus.endpoint import Endpoints
from daq.clock import SimulatedClock
from daq.config.rig import load_rig
from daq.errors import CheckError
from daq.motion.plan import limits_of
from daq.motion.state import State
from daq.session.observer import Observer
from daq.session.standby import Standby
from daq.trajectory.checks import limit_checks, run_checks
from daq.trajectory.wrist import wrist_excitation
from drivers.block import Block
from drivers.errors import CommandError
from heft.configs import CONFIGS

RIG = CONFIGS / "rigs" / "sim_wam7.yaml"


class Witness(Observer):
    """Keeps what the encoders saw."""

    def __init__(self) -> None:
        self.positions: list[np.ndarray] = []
        self.states: list[str] = []

    def block(self, block: Block) -> None:
        if block.stream.name == "encoders.position":
            self.positions.append(block.si)

    def state(self, state: str, reason: str) -> None:
        self.states.append(state)


async def passing(clock: SimulatedClock, work: Any) -> Any:
    """What `work` answers, while simulated time passes."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await clock.sleep_until(clock.now_ns() + 10_000_000)
    return await task


async def stand_by(armed: bool, work: Any) -> tuple[Any, Witness]:
    witness, clock = Witness(), SimulatedClock()
    with Endpoints.private() as endpoints:
        standby = Standby(
            load_rig(RIG), clock=clock, telemetry=endpoints.telemetry, armed=armed, observers=[witness]
        )

        async def drive() -> None:
            with clock.participant("test"):
                await clock.sleep_until(clock.now_ns() + 300_000_000)
                await work(standby, clock)
                standby.stop("enough")

        driving = asyncio.create_task(drive())
        end = await standby.run()
        await driving
    return end, witness


def excitation(standby: Standby) -> Any:
    limits = limits_of(standby.config.robot.joints)
    return lambda here: wrist_excitation(limits, here, rate_hz=1000.0, seconds=2.0)


async def test_it_reads_and_moves_nothing() -> None:
    async def work(standby: Standby, clock: SimulatedClock) -> None:
        with pytest.raises(CommandError, match="not armed"):
            await standby.play(excitation(standby))
        await clock.sleep_until(clock.now_ns() + 300_000_000)

    end, witness = await stand_by(False, work)
    assert end.state is State.DONE
    assert end.reason == "enough"
    assert witness.states == ["connected", "done"]
    assert np.ptp(np.concatenate(witness.positions), axis=0).max() < 2e-5


async def test_armed_it_plays_a_wrist_motion_and_comes_back() -> None:
    async def work(standby: Standby, clock: SimulatedClock) -> None:
        assert await passing(clock, standby.play(excitation(standby)))

    end, witness = await stand_by(True, work)
    assert end.state is State.DONE, end.reason
    assert witness.states == ["connected", "armed", "moving", "armed", "done"]
    positions = np.concatenate(witness.positions)
    travel = np.ptp(positions, axis=0)
    assert np.all(travel[4:] > 0.1)
    assert np.all(travel[:4] < 0.02)
    assert np.abs(positions[-1] - positions[0]).max() < 0.01


async def test_a_motion_that_leaves_a_limit_is_refused() -> None:
    async def work(standby: Standby, clock: SimulatedClock) -> None:
        def astray(here: Any) -> Any:
            motion = excitation(standby)(here)
            position = np.array(motion.position)
            position[:, 5] += 1.5
            return type(motion)(motion.axes, motion.rate_hz, position, motion.velocity, motion.acceleration)

        with pytest.raises(CheckError, match="joint6"):
            await passing(clock, standby.play(astray))

    end, witness = await stand_by(True, work)
    assert end.state is State.DONE
    assert "moving" not in witness.states


@pytest.mark.parametrize("j6", [-1.6, -1.2, 0.0, 1.59])
def test_the_wrist_motion_keeps_to_the_limits_everywhere(j6: float) -> None:
    limits = limits_of(load_rig(RIG).robot.joints)
    here = np.array([0.0, -0.5, 0.0, 1.8, -1.8, j6, 0.0])
    motion = wrist_excitation(limits, here, rate_hz=1000.0)
    run_checks(motion, limit_checks(limits))
    assert motion.begins_at_rest
    assert motion.ends_at_rest
    assert np.array_equal(motion.position[0], here)
    velocity = np.gradient(motion.position, 1e-3, axis=0)
    assert np.abs(velocity - motion.velocity)[2:-2].max() < 1e-3
    acceleration = np.gradient(motion.velocity, 1e-3, axis=0)
    assert np.abs(acceleration - motion.acceleration)[2:-2].max() < 2e-2


def test_an_mqtt_event_is_a_signal_and_nothing_more() -> None:
    """The service has no way from an event to a motion: `_heard` only appends a signal."""
    from daq.mqtt.inbox import Inbox
    from heft.live_payload import PayloadService
    from identify.payload.events import SignalKind

    service = PayloadService.__new__(PayloadService)
    service._clock = SimulatedClock()
    service._signals = deque()
    said = json.dumps({"event_id": "a", "ts": time.time(), "event": "picked", "object": "bottle"}).encode()
    event = Inbox(30.0).judge("t", said, retained=False, utc_s=time.time())
    service._heard(event)
    (signal,) = service._signals
    assert signal.kind is SignalKind.HELD
    assert signal.source == "mqtt"
    assert signal.target == "bottle"
