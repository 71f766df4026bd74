"""One HTTP request on the event loop: no thread, and cancelled like anything else."""

from __future__ import annotations

import asyncio
import io
from http.client import HTTPException, HTTPResponse
from typing import Any

from heft.drivers.errors import ConnectError

__all__ = ["http_get"]

_LARGEST = 1 << 20


class _Received:
    """What `HTTPResponse` takes for a socket."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str, *rest: Any) -> io.BytesIO:
        return io.BytesIO(self._data)


async def http_get(device: str, host: str, port: int, path: str, timeout_s: float) -> bytes:
    """The body of http://host:port/path, or ConnectError."""
    url = f"http://{host}:{port}{path}"
    data = b""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(host, port, limit=_LARGEST)
            try:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                while len(data) < _LARGEST and (chunk := await reader.read(65_536)):
                    data += chunk
            finally:
                writer.transport.abort()
    except TimeoutError:
        if not data:  # a server that does not hang up may still have decoded all
            raise ConnectError(
                device, f"{url}: no answer within {timeout_s:g} s; check the address and the network"
            ) from None
    except OSError as exc:
        raise ConnectError(
            device, f"{url}: {exc.strerror or exc}; check that the device is on, its address and http_port"
        ) from exc
    return _body(device, url, data)


def _body(device: str, url: str, data: bytes) -> bytes:
    response = HTTPResponse(_Received(data))  # type: ignore[arg-type]
    try:
        response.begin()
        body = response.read()
    except (HTTPException, OSError, ValueError) as exc:
        raise ConnectError(
            device, f"{url}: not an HTTP answer ({exc or type(exc).__name__}); is this the right device?"
        ) from exc
    finally:
        response.close()
    if response.status != 200:
        raise ConnectError(device, f"{url}: {response.status} {response.reason}; is this the right device?")
    return body
