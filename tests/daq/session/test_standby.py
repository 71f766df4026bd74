"""A rig that stands by, armed and not; events from outside look at the weight and move nothing."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from typing import Any

import numpy as np
import pytest

from heft.daq.bus.runtime import private_endpoints
from heft.daq.clock import SimulatedClock
from heft.daq.config.rig import load_rig
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import CheckError
from heft.daq.motion.state import State
from heft.daq.session.sink import Sink
from heft.daq.session.standby import Standby
from heft.daq.trajectory.checks import check_motion
from heft.daq.trajectory.wrist import wrist_excitation
from heft.drivers.block import Block
from heft.drivers.errors import CommandError
from heft.drivers.plant.faults import Silence
from heft.drivers.sim.drives import SimDrives

RIG = CONFIGS / "rigs" / "sim_wam7.yaml"


class Witness(Sink):
    """Keeps what the encoders saw, and setpoints: those sent, and those that the drives took up."""

    def __init__(self) -> None:
        self.positions: list[np.ndarray] = []
        self.sent: list[np.ndarray] = []
        self.played: list[np.ndarray] = []
        self.states: list[str] = []

    def block(self, block: Block) -> None:
        kept = {"encoders.position": self.positions, "arm.sent": self.sent, "arm.played": self.played}
        if block.stream.name in kept:
            kept[block.stream.name].append(block.si[:, :7])

    def state(self, state: str, reason: str) -> None:
        self.states.append(state)

    @property
    def still(self) -> bool:
        """Whether the encoders saw no motion for the last 30 ms: by more than a count."""
        return bool(np.ptp(np.concatenate(self.positions)[-30:], axis=0).max() < 3e-5)


async def wait(clock: SimulatedClock, seconds: float) -> None:
    await clock.sleep_until(clock.now_ns() + round(seconds * 1e9))


async def passing(clock: SimulatedClock, work: Any) -> Any:
    """What `work` answers, while simulated time passes."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await clock.sleep_until(clock.now_ns() + 10_000_000)
    return await task


async def stand_by(armed: bool, work: Any, witness: Witness | None = None) -> tuple[Any, Witness]:
    witness, clock = witness or Witness(), SimulatedClock()
    with private_endpoints() as endpoints:
        standby = Standby(load_rig(RIG), clock=clock, endpoints=endpoints, armed=armed, sinks=[witness])

        async def drive() -> None:
            with clock.participant("test"):
                await wait(clock, 0.3)
                try:
                    await work(standby, clock)
                finally:
                    standby.stop("enough")

        driving = asyncio.create_task(drive())
        end = await standby.run()
        await driving
    return end, witness


def excitation(standby: Standby) -> Any:
    limits = standby.config.limits
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


@pytest.mark.slow
async def test_motions_one_after_the_other_with_a_load_begin_where_the_drives_hold_the_arm() -> None:
    """Not where a new load has pulled it for the moment: that would be a jerk."""

    async def work(standby: Standby, clock: SimulatedClock) -> None:
        assert await passing(clock, standby.play(excitation(standby)))
        await standby.rig.grippers[0].grip("block")
        await wait(clock, 0.08)
        assert await passing(clock, standby.play(excitation(standby)))

    end, witness = await stand_by(True, work)
    assert end.state is State.DONE, end.reason
    assert witness.states == ["connected", "armed", "moving", "armed", "moving", "armed", "done"]
    sent, played = np.concatenate(witness.sent), np.concatenate(witness.played)
    assert len(sent) == 2 * 2001
    assert np.abs(sent[2001] - sent[2000]).max() < 1e-12
    assert np.abs(np.diff(played, axis=0)).max() < 2e-3  # 2 rad/s


async def test_a_motion_that_is_interrupted_leaves_the_arm_at_rest_and_armed() -> None:
    async def work(standby: Standby, clock: SimulatedClock) -> None:
        playing = asyncio.ensure_future(standby.play(excitation(standby)))
        waiting = asyncio.ensure_future(standby.play(excitation(standby)))
        await wait(clock, 1.5)  # half a second of it is the lead
        standby.interrupt_motion()
        standby.interrupt_motion()
        assert not await passing(clock, playing)
        assert not await passing(clock, waiting)
        seen.append(len(witness.positions))
        await wait(clock, 0.2)
        assert await passing(clock, standby.play(excitation(standby)))  # from where it stands now

    seen: list[int] = []
    witness = Witness()
    end, _ = await stand_by(True, work, witness)
    assert end.state is State.DONE, end.reason
    assert witness.states == ["connected", "armed", "moving", "armed", "moving", "armed", "done"]
    rest = np.concatenate(witness.positions[seen[0] + 2 : seen[0] + 20])
    start = witness.positions[0][0]
    assert np.ptp(rest, axis=0).max() < 1e-3
    assert np.abs(rest[-1] - start)[4:].max() > 0.01  # it was on its way


async def test_an_end_in_the_middle_of_a_motion_stops_the_arm_at_once() -> None:
    async def work(standby: Standby, clock: SimulatedClock) -> None:
        playing = asyncio.ensure_future(standby.play(excitation(standby)))
        await wait(clock, 1.5)
        standby.stop("enough of this")
        asked_ns.append(clock.now_ns())
        assert not await passing(clock, playing)
        asked_ns.append(clock.now_ns())

    asked_ns: list[int] = []
    end, witness = await stand_by(True, work)
    assert (end.state, end.reason) == (State.ABORTED, "enough of this")
    assert witness.states == ["connected", "armed", "moving", "aborted"]
    assert witness.still
    assert asked_ns[1] - asked_ns[0] < 900_000_000  # of a motion that had a second to go


async def test_a_device_that_is_lost_in_the_middle_of_a_motion() -> None:
    async def work(standby: Standby, clock: SimulatedClock) -> None:
        playing = asyncio.ensure_future(standby.play(excitation(standby)))
        await wait(clock, 1.2)
        world = standby.rig.world
        world.inject(Silence(device="wrist", at_s=world.now()))
        assert not await passing(clock, playing)

    end, witness = await stand_by(True, work)
    assert end.state is State.FAILED
    assert "wrist.wrench has been silent" in end.reason
    assert witness.still
    assert len(np.concatenate(witness.played)) < len(np.concatenate(witness.sent)) + 1500


async def test_an_end_that_meets_a_driver_s_answer_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """`asyncio.wait_for` forgets a cancellation that arrives together with the answer, before Python 3.12."""
    standing: list[Standby] = []
    arm = SimDrives.arm

    async def meet(self: SimDrives) -> None:
        answer = asyncio.get_running_loop().create_future()

        def both() -> None:
            answer.set_result(None)
            standing[0].stop("the operator saw a hand")

        await arm(self)
        asyncio.get_running_loop().call_soon(both)
        await asyncio.wait_for(answer, 5.0)

    async def work(standby: Standby, clock: SimulatedClock) -> None:
        assert not await passing(clock, standby.play(excitation(standby)))

    monkeypatch.setattr(SimDrives, "arm", meet)
    monkeypatch.setattr(Standby, "run", _remembered(standing, Standby.run))
    end, witness = await stand_by(True, work)
    assert end.reason == "the operator saw a hand"
    assert not witness.sent


def _remembered(standing: list[Standby], run: Any) -> Any:
    async def remember(self: Standby) -> Any:
        standing.append(self)
        return await run(self)

    return remember


@pytest.mark.parametrize("j6", [-1.6, -1.2, 0.0, 1.59])
def test_the_wrist_motion_keeps_to_the_limits_everywhere(j6: float) -> None:
    limits = load_rig(RIG).limits
    here = np.array([0.0, -0.5, 0.0, 1.8, -1.8, j6, 0.0])
    motion = wrist_excitation(limits, here, rate_hz=1000.0)
    check_motion(motion, limits)
    assert motion.begins_at_rest
    assert motion.ends_at_rest
    assert np.array_equal(motion.position[0], here)
    velocity = np.gradient(motion.position, 1e-3, axis=0)
    assert np.abs(velocity - motion.velocity)[2:-2].max() < 1e-3
    acceleration = np.gradient(motion.velocity, 1e-3, axis=0)
    assert np.abs(acceleration - motion.acceleration)[2:-2].max() < 2e-2


def test_an_mqtt_event_is_a_signal_and_nothing_more() -> None:
    """The service has no way from an event to a motion: `_on_gripper_event` only appends a signal."""
    from heft.daq.mqtt.inbox import Inbox
    from heft.identify.payload.pickups.signals import SignalKind
    from heft.live_payload import PayloadService

    service = PayloadService.__new__(PayloadService)
    service._clock = SimulatedClock()
    service._signals = deque()
    said = json.dumps({"event_id": "a", "ts": time.time(), "event": "picked", "object": "bottle"}).encode()
    event = Inbox(30.0).judge("t", said, retained=False, utc_s=time.time())
    service._on_gripper_event(event)
    (signal,) = service._signals
    assert signal.kind is SignalKind.HELD
    assert signal.source == "mqtt"
    assert signal.target == "bottle"
