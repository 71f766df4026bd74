"""What runs beside whoever conducts, in a session and while standing by: readers, the watch, and their guard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any

from daq.clock import HostClock
from daq.motion.watch import Watch
from daq.rig import Rig
from daq.session.ledger import Ledger
from drivers.errors import DeviceLost

__all__ = ["first_samples", "start", "watch_silence"]

_FIRST_SAMPLE_NS = 2_000_000_000  # every stream must have begun within this
_WATCH_NS = 20_000_000

Job = Coroutine[Any, Any, None]
Blame = Callable[[Exception], None]


def start(stack: AsyncExitStack, jobs: Mapping[str, Job], blame: Blame) -> None:
    """Run jobs as tasks of these names until the stack is left. None ends in silence: `blame` hears why."""

    async def guarded(job: Job) -> None:
        try:
            await job
        except Exception as exc:
            blame(exc)

    tasks = [asyncio.create_task(guarded(job), name=name) for name, job in jobs.items()]

    async def end() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    stack.push_async_callback(end)


async def first_samples(rig: Rig, clock: HostClock, ledger: Ledger, watch: Watch) -> None:
    """Wait until every stream has begun, and watch them all from then on; `DeviceLost` where one does not."""
    deadline_ns = clock.now_ns() + _FIRST_SAMPLE_NS
    while not ledger.started:
        if clock.now_ns() > deadline_ns:
            silent = [a.stream for a in ledger.accounts if not a.received]
            raise DeviceLost(
                silent[0].split(".")[0],
                f"no sample of {', '.join(silent)} within {_FIRST_SAMPLE_NS / 1e9:g} s; check that it streams",
            )
        await clock.sleep_until(clock.now_ns() + _WATCH_NS)
    for driver in rig:
        watch.expect(driver.streams, clock.now_ns())


async def watch_silence(clock: HostClock, watch: Watch) -> None:
    """Look regularly whether every stream still comes."""
    with clock.participant("watch"):
        while True:
            await clock.sleep_until(clock.now_ns() + _WATCH_NS)
            watch.silent(clock.now_ns())
