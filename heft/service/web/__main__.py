"""The page's process: reads what to show from standard input, says its address, serves until that is closed."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
from typing import Any

import uvicorn

from heft.drivers.errors import HeftError
from heft.log_file import logged
from heft.service.reach import is_loopback
from heft.service.web.app import Application
from heft.service.web.guard import Guard
from heft.service.web.http import ImpatientHttp
from heft.service.web_process import Played, Showing

__all__ = ["main"]

_log = logging.getLogger("heft.service")

MOST_WEBSOCKET = 65_536


async def serve(showing: Showing) -> None:
    """Until standard input ends."""
    application = Application(showing)
    if showing.foxglove is not None:
        from heft.service.web.foxglove_live import serve_foxglove

        serve_foxglove(showing, application.hub, application.scene)
    sock = _bound(showing)
    port = sock.getsockname()[1]
    scheme = "https" if showing.certificate else "http"
    names = {showing.host}
    if is_loopback(showing.host) or showing.host in ("0.0.0.0", "::"):
        names |= {"127.0.0.1", "localhost", "::1"}
    if showing.host in ("0.0.0.0", "::"):
        names |= {socket.gethostname(), socket.getfqdn()}
    places = [
        f":{port}",
        *([""] if port == {"http": 80, "https": 443}[scheme] else []),
    ]  # browsers leave it out
    origins = frozenset(f"{scheme}://{_bracketed(name)}{place}" for name in names for place in places)
    guard: Any = Guard(application.asgi, origins, showing.token)
    config = uvicorn.Config(
        guard,
        http=ImpatientHttp,
        log_config=None,
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=MOST_WEBSOCKET,
        ws_per_message_deflate=False,
        ssl_certfile=showing.certificate or None,
        ssl_keyfile=showing.key or None,
        timeout_graceful_shutdown=1,
        server_header=False,
        h11_max_incomplete_event_size=65_536,
        limit_concurrency=256,
    )
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    loop.add_reader(sys.stdin.fileno(), lambda: _ended(loop, ended))
    serving = asyncio.create_task(server.serve([sock]), name="http")
    while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    host = "127.0.0.1" if showing.host in ("0.0.0.0", "::") else showing.host
    _say({"url": f"{scheme}://{_bracketed(host)}:{port}/", "port": port})
    await asyncio.wait({ended, serving}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving


def _ended(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
    if not os.read(sys.stdin.fileno(), 4096) and not ended.done():
        ended.set_result(None)
        loop.remove_reader(sys.stdin.fileno())


def _bound(showing: Showing) -> socket.socket:
    family = socket.AF_INET6 if ":" in showing.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((showing.host.strip("[]"), showing.port))
    sock.listen(128)
    sock.setblocking(False)
    return sock


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


def _say(facts: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Exit code 0 when it was told to end, 2 where it could not begin."""
    line = b""
    while not line.endswith(b"\n"):  # byte by byte: what follows is the sign to end
        byte = os.read(0, 1)
        if not byte:
            return 2
        line += byte
    raw = json.loads(line)
    played = None if raw["played"] is None else Played(**raw["played"])
    showing = Showing(**{**raw, "sessions": tuple(raw["sessions"]), "played": played})
    with logged():
        try:
            asyncio.run(serve(showing))
        except OSError as exc:
            text = f"--host {showing.host} --port {showing.port}: {exc.strerror or exc}; choose another port"
            _say({"error": text})
            return 2
        except HeftError as exc:
            _say({"error": str(exc)})
            return 2
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
