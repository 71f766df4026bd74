"""One page's live side: what it is shown, and how long it may take to be there."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from heft.daq.bounded_json import bounded_json
from heft.daq.bus.stop import send_stop
from heft.daq.errors import BusError
from heft.service.client import RefusedRequest, ServiceClient
from heft.service.strict_json import strict_json
from heft.service.web.hub import Hub
from heft.service.web.page_feed import PageFeed

__all__ = ["LiveSocket", "Stopper"]

_log = logging.getLogger("heft.service")

#: Between two frames [s].
FRAME_S = 1 / 30
#: Frames that a page has been sent and has not painted: a second one would wait for the first, and be old when seen.
AHEAD = 1
#: The most pages at a time; the rest is refused in words.
MOST_PAGES = 32
#: A page that takes nothing for so long is let go [s].
STALLED_S = 60.0
#: The longest message of a page [characters].
MOST_MESSAGE = 16_384


class LiveSocket:
    """The websocket `/live`: state, samples and events, 30 times a second for a page that keeps up.

    The page says of each frame when it has painted it (`{"seen": true}`). A slow one gets fewer, all of them new.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.pages = 0

    async def serve(self, socket: WebSocket) -> None:
        """Until the page goes, or takes nothing for too long."""
        await socket.accept()
        if self.pages >= MOST_PAGES:
            await socket.close(4429, f"{MOST_PAGES} pages are open already; close one")
            return
        self.pages += 1
        feed = PageFeed(self._hub)
        room = asyncio.BoundedSemaphore(AHEAD)
        sending = asyncio.create_task(self._send(socket, feed, room), name="page")
        try:
            while True:
                text = await socket.receive_text()
                asked = bounded_json(text, most=MOST_MESSAGE)
                if not isinstance(asked, dict):
                    break
                if "seen" in asked:
                    with suppress(ValueError):  # said of more frames than there were
                        room.release()
                else:
                    feed.plot(asked.get("plot"))
        except (WebSocketDisconnect, ValueError, KeyError, RuntimeError):
            pass
        finally:
            self.pages -= 1
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            with suppress(RuntimeError, WebSocketDisconnect):
                await socket.close()

    async def _send(self, socket: WebSocket, feed: PageFeed, room: asyncio.Semaphore) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            try:
                async with asyncio.timeout(STALLED_S):
                    await room.acquire()
                    await socket.send_text(strict_json(feed.take()).decode())
            except TimeoutError:
                _log.warning("a page takes nothing for %g s; it is let go", STALLED_S)
                with suppress(RuntimeError, WebSocketDisconnect):
                    await socket.close(4408, "nothing was taken")
                return
            due = max(due + FRAME_S, loop.time())
            await asyncio.sleep(due - loop.time())


class Stopper:
    """A stop, by the channel that waits behind nothing, and by asking the owner; the websocket `/stop`, too."""

    def __init__(self, endpoint: str, service: ServiceClient | None) -> None:
        self._endpoint, self._service = endpoint, service

    async def stop(self, reason: str) -> dict[str, Any]:
        """Ask on all ways at once; what they said: `idle`, the owner says that nothing is under way."""
        _log.info("stop: %s", reason)
        heard, asked = await asyncio.gather(self._session(reason), self._owner(reason))
        return {"heard": heard, "stopped": bool(asked), "idle": asked is False}

    async def _session(self, reason: str) -> bool:
        if not self._endpoint:
            return False
        try:
            await send_stop(self._endpoint, reason, timeout_s=1.0)
        except BusError:
            return False
        return True

    async def _owner(self, reason: str) -> bool | None:
        """Whether it had anything to stop; None: it did not answer."""
        if self._service is None:
            return None
        try:
            return bool((await self._service.ask("stop", reason=reason))["stopped"])
        except (BusError, RefusedRequest):
            return None

    async def serve(self, socket: WebSocket) -> None:
        """Every message on this socket is a stop; the answer says what came of it."""
        await socket.accept()
        try:
            while (await socket.receive())["type"] == "websocket.receive":  # text or bytes
                await socket.send_text(json.dumps(await self.stop("stopped on the page")))
        except (WebSocketDisconnect, RuntimeError):
            pass
