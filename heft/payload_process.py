"""Payload estimation in a process of its own, so that it never holds up the reading of devices."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, Self

from heft.drivers.block import Block
from heft.drivers.stream import Stream
from heft.identify.errors import DataError
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.pickups.pickup import Pickup
from heft.identify.payload.pickups.signals import Signal
from heft.identify.payload.scales.arm_model import ArmModel
from heft.identify.payload.weighing.live import LivePayload, warm_up
from heft.identify.payload.weighing.streams import PayloadStreams
from heft.identify.robot import Robot

__all__ = ["PayloadProcess"]


class PayloadProcess:
    """Takes blocks and signals and returns changed pick-ups; use inside `async with`, after `begin`.

    `hand` is the bare hand, once it is known; `wanted` are the streams whose blocks it needs.
    """

    WARM_UP_HZ = 1000.0  # sample rate of the data that compiled code is warmed up with
    SHUTDOWN_S = 0.5  # after which a computation that is under way is killed

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        self._processes: list[BaseProcess] = []
        self.wanted: frozenset[str] = frozenset()
        self.hand: Hand | None = None

    async def __aenter__(self) -> Self:
        """Start the process and warm it up: from then on it answers at once."""
        others = multiprocessing.active_children()
        prepared = asyncio.ensure_future(self._ask(_prepare, self._robot.to_dict(), self.WARM_UP_HZ))
        try:
            await asyncio.sleep(0)  # it is asked, so the process is there
            self._processes = [one for one in multiprocessing.active_children() if one not in others]
            await prepared
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """End the process; a computation that is under way is given up."""
        shut = asyncio.ensure_future(asyncio.to_thread(self._pool.shutdown, cancel_futures=True))
        await asyncio.wait({shut}, timeout=self.SHUTDOWN_S)
        if not shut.done():
            for process in self._processes:
                process.kill()
        await shut

    async def begin(
        self,
        streams: Mapping[str, Stream],
        hand: Hand | None,
        prior: ObjectPrior | None,
        arm: ArmModel | None = None,
    ) -> None:
        """Set the rig's streams, and the bare hand, the object's prior and the identified arm as far as known."""
        by_joints = arm is not None
        names = PayloadStreams.find(streams, self._robot, "the rig", by_joints=by_joints)
        self.wanted = frozenset(names.used(by_joints=by_joints))
        self.by_wrist = names.wrench is not None
        self.hand = hand
        await self._ask(_begin, dict(streams), hand, prior, arm)

    @property
    def lacks_hand(self) -> bool:
        """Whether a motion would tell the wrist sensor nothing of a load, the bare hand being unknown."""
        return self.by_wrist and self.hand is None

    async def take(self, blocks: Sequence[Block], signals: Sequence[Signal]) -> list[Pickup]:
        """The next blocks and signals; pick-ups of which there is something new, with their latest estimate only."""
        news: list[Pickup]
        news, self.hand = await self._ask(_take, list(blocks), list(signals))
        return news

    async def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)
        except BrokenProcessPool as exc:
            raise DataError(
                "the process that weighs has ended by itself; see whether memory was short"
            ) from exc


# -- in the process ---------------------------------------------------------------------------------------------------


class _State:
    """What the process keeps from one call to the next."""

    robot: Robot
    live: LivePayload


def _prepare(robot: dict[str, Any], rate_hz: float) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the parent ends it ...
    Thread(target=_leave_with_parent, name="parent", daemon=True).start()  # ... even where it was killed
    _State.robot = Robot.from_dict(robot)
    warm_up(_State.robot, rate_hz)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)


def _begin(
    streams: dict[str, Stream], hand: Hand | None, prior: ObjectPrior | None, arm: ArmModel | None
) -> None:
    _State.live = LivePayload(streams, _State.robot, hand=hand, arm=arm, prior=prior)


def _take(blocks: list[Block], signals: list[Signal]) -> tuple[list[Pickup], Hand | None]:
    for one in signals:
        _State.live.signal(one)
    return _State.live.take(blocks), _State.live.hand
