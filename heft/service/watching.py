"""A page beside a session or a replay of this process: it watches, stops and pauses, and asks for nothing else."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from heft.daq.bus.control import ControlServer, Reply, Request
from heft.daq.bus.endpoint import Endpoints
from heft.daq.bus.stop import StopListener
from heft.daq.replay.replay import Replay
from heft.service.web_process import Played, Showing, WebProcess

__all__ = ["page_beside", "replay_control"]


@asynccontextmanager
async def page_beside(
    title: str,
    endpoints: Endpoints,
    scene: dict[str, Any] | None,
    *,
    port: int = 0,
    foxglove: int | None = None,
    played: Played | None = None,
) -> AsyncIterator[str]:
    """Inside, a page shows what is published at these endpoints; its address, which is told on standard error, too."""
    showing = Showing(
        title=title,
        telemetry=str(endpoints.telemetry.reachable),
        stop=str(endpoints.stop),
        control=str(endpoints.control),
        scene=scene,
        port=port,
        foxglove=foxglove,
        played=played,
    )
    async with WebProcess(showing) as page:
        sys.stderr.write(f"page  {page.url}\n")
        if foxglove is not None:
            sys.stderr.write(f"foxglove  ws://127.0.0.1:{foxglove}\n")
        yield page.url


@asynccontextmanager
async def replay_control(replay: Replay, endpoints: Endpoints) -> AsyncIterator[None]:
    """Inside, a replay is paused, moved and stopped by the channels that a session has."""

    async def pause(request: Request) -> Reply:
        if not replay.paused:
            replay.pause()
        return Reply({"state": "paused"})

    async def resume(request: Request) -> Reply:
        if replay.paused:
            replay.pause()
        return Reply({"state": "replay"})

    async def seek(request: Request) -> Reply:
        replay.seek(float(request.payload["seconds"]))
        return Reply({"seconds": replay.seconds})

    async def listen(listener: StopListener) -> None:
        await listener.wait()
        replay.stop()

    async with AsyncExitStack() as stack:
        handlers = {"pause": pause, "resume": resume, "seek": seek}
        await stack.enter_async_context(ControlServer(endpoints.control, handlers))
        listener = await stack.enter_async_context(StopListener(endpoints.stop))
        task = asyncio.create_task(listen(listener), name="stop of the replay")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
