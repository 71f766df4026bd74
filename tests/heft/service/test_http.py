"""A server whose connections say nothing lets others in all the same."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from heft.service.web import http
from heft.service.web.http import ImpatientHttp

GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


async def test_a_request_that_never_becomes_whole_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PATIENCE_S", 0.3)
    answered = asyncio.Event()

    async def slow(request: Request) -> PlainTextResponse:
        await asyncio.sleep(0.8)  # one that is answered may take longer
        answered.set()
        return PlainTextResponse("done")

    app: Any = Starlette(routes=[Route("/", slow)])
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        config = uvicorn.Config(app, http=ImpatientHttp, log_config=None, timeout_keep_alive=30)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([sock]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        silent, asker = (
            await asyncio.open_connection("127.0.0.1", port),
            await asyncio.open_connection("127.0.0.1", port),
        )
        trickle = await asyncio.open_connection("127.0.0.1", port)
        trickle[1].write(GET[:20])
        asker[1].write(GET)
        for reader, _ in (silent, trickle):
            assert await asyncio.wait_for(reader.read(), 5) == b""
        assert not answered.is_set()
        assert (await asyncio.wait_for(asker[0].readuntil(b"done"), 5)).startswith(b"HTTP/1.1 200")
        asker[1].write(GET[:20])  # nor does a second one keep it
        assert await asyncio.wait_for(asker[0].read(), 5) == b""
        for _, writer in (silent, asker, trickle):
            writer.close()
        server.should_exit = True
        await serving
