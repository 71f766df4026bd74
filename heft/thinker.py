"""A process that follows pick-ups, so that thinking about them never holds up the reading of devices."""

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

from drivers.block import Block
from drivers.stream import Stream
from identify.errors import DataError
from identify.payload.arm import ArmModel
from identify.payload.events import Signal
from identify.payload.hand import Hand
from identify.payload.live import LivePayload, rehearse
from identify.payload.pickups import Pickup
from identify.payload.prior import ObjectPrior
from identify.payload.streams import PayloadStreams
from identify.robot import Robot

__all__ = ["Thinker"]


class Thinker:
    """Blocks and signals in, news of pick-ups out; inside `async with`, after `begin`.

    `hand` is the bare hand, once it is known; `wanted` are the streams whose blocks it needs.
    """

    RATE_HZ = 1000.0  # of the rehearsal
    PATIENCE_S = 0.5  # with a thought that is under way at the end

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        self._processes: list[BaseProcess] = []
        self.wanted: frozenset[str] = frozenset()
        self.hand: Hand | None = None

    async def __aenter__(self) -> Self:
        """Start the process and let it rehearse: from then on it answers at once."""
        others = multiprocessing.active_children()
        prepared = asyncio.ensure_future(self._ask(_prepare, self._robot.to_dict(), self.RATE_HZ))
        try:
            await asyncio.sleep(0)  # it is asked, so the process is there
            self._processes = [one for one in multiprocessing.active_children() if one not in others]
            await prepared
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """What it still thinks about is of no use to anybody."""
        shut = asyncio.ensure_future(asyncio.to_thread(self._pool.shutdown, cancel_futures=True))
        await asyncio.wait({shut}, timeout=self.PATIENCE_S)
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
        """What the rig yields, and what is known beforehand."""
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
        news, self.hand = await self._ask(_think, list(blocks), list(signals))
        return news

    async def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)
        except BrokenProcessPool as exc:
            raise DataError(
                "the process that weighs has ended by itself; see whether memory was short"
            ) from exc


# -- in the process ---------------------------------------------------------------------------------------------------


class _Mind:
    """What the process remembers from one call to the next."""

    robot: Robot
    live: LivePayload


def _prepare(robot: dict[str, Any], rate_hz: float) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the parent ends it ...
    Thread(target=_leave_with_parent, name="parent", daemon=True).start()  # ... even where it was killed
    _Mind.robot = Robot.from_dict(robot)
    rehearse(_Mind.robot, rate_hz)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)


def _begin(
    streams: dict[str, Stream], hand: Hand | None, prior: ObjectPrior | None, arm: ArmModel | None
) -> None:
    _Mind.live = LivePayload(streams, _Mind.robot, hand=hand, arm=arm, prior=prior)


def _think(blocks: list[Block], signals: list[Signal]) -> tuple[list[Pickup], Hand | None]:
    for one in signals:
        _Mind.live.signal(one)
    return _Mind.live.take(blocks), _Mind.live.hand
