"""A page is sent the next frame when it has painted the last: what waits in buffers would be old when it is seen."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from heft.daq.errors import BusError
from heft.service.web import show
from heft.service.web.hub import Hub
from heft.service.web.show import AHEAD, LiveSocket, Stopper


class FakeSocket:
    """A websocket whose page says what the test puts into `said`."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[str | None] = asyncio.Queue()
        self.sent: list[dict[str, Any]] = []
        self.closed: tuple[int, str] | None = None

    async def accept(self) -> None: ...

    async def receive_text(self) -> str:
        text = await self.said.get()
        if text is None:
            raise WebSocketDisconnect
        return text

    async def send_text(self, text: str) -> None:
        self.sent.append(json.loads(text))

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.closed = self.closed or (code, reason)


async def settled(socket: FakeSocket) -> int:
    """Frames that were sent when no more come."""
    count = -1
    while len(socket.sent) != count:
        count = len(socket.sent)
        await asyncio.sleep(5 * show.FRAME_S)
    return count


async def test_a_page_is_sent_what_it_has_painted_and_one_more() -> None:
    socket, live = FakeSocket(), LiveSocket(Hub("", list))
    page = asyncio.create_task(live.serve(socket))  # type: ignore[arg-type]
    assert await settled(socket) == AHEAD
    socket.said.put_nowait('{"seen": true}')
    assert await settled(socket) == AHEAD + 1
    for _ in range(5):
        socket.said.put_nowait('{"seen": true}')
    assert AHEAD + 2 <= await settled(socket) <= AHEAD + 6
    socket.said.put_nowait('{"plot": []}')
    socket.said.put_nowait(None)
    await page
    assert live.pages == 0


async def test_a_page_that_paints_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "STALLED_S", 0.05)
    socket, live = FakeSocket(), LiveSocket(Hub("", list))
    page = asyncio.create_task(live.serve(socket))  # type: ignore[arg-type]
    await settled(socket)
    assert socket.closed == (4408, "nothing was taken")
    socket.said.put_nowait(None)
    await page


async def test_any_message_is_a_stop_bytes_too() -> None:
    asked: list[str] = []

    class Socket(FakeSocket):
        async def receive(self) -> dict[str, Any]:
            return messages.pop(0)

        async def receive_text(self) -> str:
            return str((await self.receive())["text"])

    class Service:
        async def ask(self, what: str, **facts: Any) -> dict[str, Any]:
            asked.append(what)
            return {"stopped": True}

    messages: list[dict[str, Any]] = [
        {"type": "websocket.receive", "bytes": b"stop"},
        {"type": "websocket.receive", "text": ""},
        {"type": "websocket.disconnect", "code": 1000},
    ]
    socket = Socket()
    await Stopper("", Service()).serve(socket)  # type: ignore[arg-type]
    assert asked == ["stop", "stop"]
    assert socket.sent == [{"heard": False, "stopped": True, "idle": False}] * 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"stopped": False}, {"heard": False, "stopped": False, "idle": True}),
        (BusError("nobody answers"), {"heard": False, "stopped": False, "idle": False}),
    ],
    ids=["nothing is under way", "nobody answers"],
)
async def test_an_owner_that_does_not_answer_is_not_idle(answer: Any, said: dict[str, bool]) -> None:
    """The page then says that the stop is not confirmed."""

    class Service:
        async def ask(self, what: str, **facts: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    assert await Stopper("", Service()).stop("stopped on the page") == said  # type: ignore[arg-type]


async def test_what_a_page_says_has_bounds() -> None:
    socket, live = FakeSocket(), LiveSocket(Hub("", list))
    page = asyncio.create_task(live.serve(socket))  # type: ignore[arg-type]
    socket.said.put_nowait("[" * 16_000)
    await page
    assert live.pages == 0
    assert socket.closed == (1000, "")
