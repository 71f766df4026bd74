"""A session with all that stands beside it: its checks, its worker, its report to the broker."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from heft import __version__
from heft.attachments import attachments_of
from heft.daq.bus.endpoint import Endpoints
from heft.daq.clock import clock_of
from heft.daq.config.session import SessionConfig
from heft.daq.motion.plan import Leg
from heft.daq.motion.state import State
from heft.daq.mqtt.session_report import SessionReport
from heft.daq.priority import ahead_of_others
from heft.daq.session.outcome import Outcome
from heft.daq.session.session import Session
from heft.output_folder import OutputFolder
from heft.preflight import Preflight
from heft.viewing import viewer_of_config
from heft.worker_process import RESULT, WorkerProcess

__all__ = ["Confirm", "SessionOrder", "SessionRun"]

#: Gets the plan, and the axes whose position may be relative; what it raises ends the session before a drive is on.
Confirm = Callable[[Sequence[Leg], Mapping[str, str]], Awaitable[None]]


@dataclass(frozen=True)
class SessionOrder:
    """What is asked for.

    identify   with a worker beside it that leaves `result.json`
    rehearsal  how the plan was rehearsed, for the recording
    settings   of the identification, as KEY=VALUE
    copies     for viewers, inside the recording
    """

    config: SessionConfig
    folder: OutputFolder
    identify: bool
    rehearsal: Mapping[str, Any] = field(default_factory=dict)
    speed: float = 1.0
    seed: int = 0
    settings: tuple[str, ...] = ()
    copies: bool = True


class SessionRun:
    """`session` is there from the beginning, so that it can be stopped and paused; `await run()` plays it."""

    def __init__(
        self, order: SessionOrder, endpoints: Endpoints, confirm: Confirm, preflight: Preflight | None = None
    ) -> None:
        config = order.config
        self._order = order
        self._worker = WorkerProcess(endpoints.telemetry, order.folder, order.settings)
        self._report = SessionReport(config.rig, config.name)
        self.preflight = preflight or Preflight(config.rig, config.scene)
        self.session = Session(
            config,
            clock=clock_of(order.speed, simulated=config.rig.simulated),
            out=order.folder.path,
            endpoints=endpoints,
            seed=order.seed,
            checks=self.preflight.checks,
            judged=self.preflight.judged,
            route=self.preflight.route,
            attachments=attachments_of(config),
            notes={"software": {"name": "heft", "version": __version__}, "rehearsal": order.rehearsal},
            followers={WorkerProcess.NAME: self._worker.alive},
            sinks=[self._report],
            confirm=confirm,
            viewer=viewer_of_config(config.rig.robot, copies=order.copies),
        )

    async def run(self) -> tuple[Outcome, str]:
        """How it ended, and why the worker has left no result, where it should have."""
        order = self._order
        with ExitStack() as stack:
            if order.identify:
                stack.enter_context(self._worker)
            if order.speed <= 1.0:  # devices do not wait
                self._worker.step_aside()
                stack.enter_context(ahead_of_others())
            gc.collect()
            gc.freeze()  # what is loaded stays: looking through it again would stall the loop for a tenth of a second
            stack.callback(gc.unfreeze)
            async with self._report:
                outcome = await self.session.run()
            if not order.identify or outcome.state is not State.DONE:
                return outcome, ""
            return outcome, await asyncio.to_thread(self._worker.take_result, order.folder.path / RESULT)
