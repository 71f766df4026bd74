"""The door of the page: who is refused, and in which words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from heft.service.web.guard import COOKIE, MOST_BODY, Guard

OWN = "http://127.0.0.1:8765"
TOKEN = "0123456789abcdef"
JSON = {"content-type": "application/json"}


async def _echo(request: Request) -> JSONResponse:
    return JSONResponse({"bytes": len(await request.body())})


def _client(token: str = "", base: str = OWN) -> httpx.AsyncClient:
    app = Starlette(routes=[Route("/api/{rest:path}", _echo, methods=["GET", "POST"])])
    guard: Any = Guard(app, frozenset({OWN}), token)
    return httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url=base)


async def test_the_page_itself_is_let_in() -> None:
    async with _client() as client:
        answer = await client.post("/api/stop", content=b"{}", headers={**JSON, "origin": OWN})
        assert answer.json() == {"bytes": 2}
        assert "default-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({"origin": "http://evil.example"}, 403, "origin 'http://evil.example'"),
        ({"origin": "null"}, 403, "origin 'null'"),
        ({"host": "evil.example:8765"}, 421, "host 'evil.example:8765'"),
        ({"sec-fetch-site": "cross-site"}, 403, "another site"),
        ({"content-type": "text/plain"}, 415, "content type 'text/plain'"),
    ],
)
async def test_another_site_is_refused(
    headers: dict[str, str], status: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with _client() as client:
        answer = await client.post("/api/stop", content=b"{}", headers={**JSON, **headers})
    assert answer.status_code == status
    assert words in answer.json()["error"]
    assert words in caplog.text


@pytest.mark.parametrize("given", ["", "wrong", TOKEN + "0", TOKEN[:-1]])
async def test_without_the_token_nobody_is_let_in(given: str) -> None:
    async with _client(TOKEN) as client:
        for headers in ({"authorization": f"Bearer {given}"}, {"cookie": f"{COOKIE}={given}"}, {}):
            answer = await client.get("/api/status", headers=headers)
            assert answer.status_code == 401
            assert "no token, or a wrong one" in answer.json()["error"]


async def test_with_the_token() -> None:
    async with _client(TOKEN) as client:
        for headers in ({"authorization": f"Bearer {TOKEN}"}, {"cookie": f"{COOKIE}={TOKEN}"}):
            assert (await client.get("/api/status", headers=headers)).status_code == 200


async def test_a_body_without_end() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 1 << 30:
            sent += 1 << 16
            yield bytes(1 << 16)

    async with _client() as client:
        answer = await client.post(
            "/api/run", content=b"{}", headers={**JSON, "content-length": str(1 << 30)}
        )
        assert answer.status_code == 413
        assert f"at most {MOST_BODY}" in answer.json()["error"]
        answer = await client.post("/api/run", content=endless(), headers=JSON)
        assert answer.status_code == 413
        assert sent <= 4 * MOST_BODY


@pytest.mark.parametrize("extensions", [{}, {"websocket.http.response": {}}], ids=["closed", "answered"])
async def test_a_websocket_of_another_origin(extensions: dict[str, Any]) -> None:
    sent: list[Any] = []
    guard: Any = Guard(Starlette(), frozenset({OWN}))
    scope = {
        "type": "websocket",
        "path": "/live",
        "headers": [(b"host", b"127.0.0.1:8765"), (b"origin", b"http://evil.example")],
        "client": ("127.0.0.1", 1),
        "extensions": extensions,
    }

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await guard(scope, receive, send)
    if extensions:
        assert [one["type"] for one in sent] == [
            "websocket.http.response.start",
            "websocket.http.response.body",
        ]
        assert sent[0]["status"] == 403
        assert b"evil.example" in sent[1]["body"]
    else:
        assert sent[0]["type"] == "websocket.close"
        assert "evil.example" in sent[0]["reason"]
