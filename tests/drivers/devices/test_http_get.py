"""One HTTP request on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from heft.drivers.devices.base.http_get import http_get
from heft.drivers.errors import ConnectError


@pytest.fixture
def serving() -> Callable[..., Any]:
    """A server that says `answer` to everything, and hangs up or not."""

    @asynccontextmanager
    async def make(answer: bytes, *, hangs_up: bool = True) -> AsyncIterator[int]:
        open_ = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            open_.append(writer)
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            if hangs_up:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for writer in open_:
                writer.close()
            await asyncio.sleep(0.02)

    return make


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 200 OK\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
    ],
)
async def test_gets_the_body_however_it_is_framed(serving, answer):
    async with serving(answer) as port:
        assert await http_get("box", "127.0.0.1", port, "/", 1.0) == b"body"


async def test_a_server_that_does_not_hang_up_has_still_said_all(serving):
    async with serving(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", hangs_up=False) as port:
        assert await http_get("box", "127.0.0.1", port, "/", 0.1) == b"body"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "not an HTTP answer"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "404 Not Found; is this the right device"),
        (b"", "not an HTTP answer"),
    ],
)
async def test_other_answers_are_errors(serving, answer, says):
    async with serving(answer) as port:
        with pytest.raises(ConnectError, match=f"^box: http://127.0.0.1:{port}/x: {says}"):
            await http_get("box", "127.0.0.1", port, "/x", 1.0)


async def test_silence_is_an_error(serving):
    async with serving(b"", hangs_up=False) as port:
        with pytest.raises(ConnectError, match=r"no answer within 0.05 s"):
            await http_get("box", "127.0.0.1", port, "/", 0.05)
