"""The one way of setpoints: through the control channel, from any process of this user, and only during a motion."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from heft.daq.bus import ControlClient, private_endpoints, setpoint_codec
from heft.daq.bus.endpoint import Endpoint
from heft.daq.clock import ManualClock, RealClock
from heft.daq.errors import RemoteError
from heft.daq.motion.judge import SetpointJudge
from heft.daq.motion.state import State
from heft.daq.session.motion_control import MotionControl
from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.trajectory import Trajectory
from heft.drivers.setpoints import Setpoints


@dataclass
class Arm:
    """Drives that take everything."""

    devices: tuple[str, ...] = ("arm",)
    played: list[Setpoints] = field(default_factory=list)

    async def arm(self) -> None:
        pass

    async def play(self, chunk: Setpoints) -> None:
        self.played.append(chunk)


LIMITS = Limits(("joint1",), *(np.full(1, bound) for bound in (-1.0, 1.0, 1.0, 1.0)))


def rest(seconds: float) -> Trajectory:
    still = np.zeros((round(seconds * 100) + 1, 1))
    return Trajectory(("joint1",), 100.0, still, still, still)


@dataclass
class Stand:
    control: MotionControl
    arm: Arm
    endpoint: Endpoint
    state: State = State.MOVING
    sent: list[Setpoints] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@asynccontextmanager
async def stand(clock: Any = None, before: Callable[[], None] = lambda: None) -> AsyncIterator[Stand]:
    arm = Arm()
    with private_endpoints() as endpoints:
        made: list[Stand] = []
        control = MotionControl(
            "bench",
            arm,  # type: ignore[arg-type]
            clock or RealClock(20.0),
            endpoints.control,
            state=lambda: made[0].state,
            judge=SetpointJudge(LIMITS, 100.0),
            on_sent=lambda chunk: made[0].sent.append(chunk),
            on_refused=lambda exc: made[0].refused.append(str(exc)),
            on_paused=lambda t_ns: setattr(made[0], "state", State.PAUSED),
            on_resumed=lambda t_ns: setattr(made[0], "state", State.MOVING),
            pausable=True,
            before=before,
        )
        made.append(Stand(control, arm, endpoints.control))
        async with control:
            yield made[0]


async def test_a_motion_arrives_whole_and_in_order() -> None:
    async with stand() as bench:
        start_ns, end_ns = await bench.control.play(rest(1.0))
    assert end_ns - start_ns == 1_000_000_000
    assert sum(len(chunk) for chunk in bench.arm.played) == 101
    assert [chunk.sequence for chunk in bench.arm.played] == list(range(0, 101, 10))
    assert [chunk.sequence for chunk in bench.sent] == [chunk.sequence for chunk in bench.arm.played]


async def test_another_client_may_send_during_a_motion_and_at_no_other_time() -> None:
    clock = ManualClock()
    (chunk,) = rest(0.05).chunks(0, chunk_ns=100_000_000)
    async with stand(clock) as bench, ControlClient(bench.endpoint) as other:
        assert (await other.request("state")).payload == {"state": "moving"}
        playing = asyncio.create_task(bench.control.play(rest(1.0)))
        while not bench.sent:  # noqa: ASYNC110 - the first chunk leaves at once
            await asyncio.sleep(0.001)
        played = len(bench.arm.played)
        with pytest.raises(RemoteError, match="before the last that was sent; keep their order"):
            await other.request("play", *setpoint_codec.encode(chunk))
        after = replace(chunk, sequence=10, host_ns=chunk.host_ns + bench.sent[-1].host_ns[-1] + 10_000_000)
        for value, why in (
            (np.nan, "joint1 is nan"),
            (0.5, "joint1: velocity 50 rad/s"),
        ):  # a jump of half a radian
            wrong = replace(after, position=after.position + value)
            with pytest.raises(RemoteError, match=why):
                await other.request("play", *setpoint_codec.encode(wrong))
        assert len(bench.arm.played) == played  # nothing of it
        assert len(bench.refused) == 3  # and the motion is ended each time
        await other.request("play", *setpoint_codec.encode(after))
        assert bench.arm.played[-1].sequence == 10
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        with pytest.raises(RemoteError, match="setpoints refused: the motion has ended or was interrupted"):
            await other.request("play", *setpoint_codec.encode(chunk))
        bench.state = State.STOPPING
        with pytest.raises(RemoteError, match="setpoints refused: the session is stopping, not moving"):
            await other.request("play", *setpoint_codec.encode(chunk))


async def test_nothing_is_sent_once_a_stop_was_asked_for() -> None:
    def stop() -> None:
        raise asyncio.CancelledError

    async with stand(before=stop) as bench:
        playing = asyncio.create_task(bench.control.play(rest(1.0)))
        await asyncio.gather(playing, return_exceptions=True)
        assert playing.cancelled()
    assert bench.arm.played == []


async def test_drives_off_is_answered_when_they_are() -> None:
    async with stand() as bench, ControlClient(bench.endpoint) as other:
        await other.request("drives_off")  # they have not been on
        await bench.control.switch_on()
        asked = asyncio.create_task(other.request("drives_off"))
        await asyncio.wait({asked}, timeout=0.1)
        assert not asked.done()
        bench.control.switched_off("arm")
        await asked
