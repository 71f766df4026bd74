"""Asking a service, by the bus: the page's process does, and every command that finds one."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self

from heft.daq.bus.control import ControlClient
from heft.daq.bus.endpoint import Endpoint
from heft.daq.errors import RemoteError
from heft.drivers.errors import HeftError
from heft.exit_codes import ExitCode

__all__ = ["RefusedRequest", "ServiceClient"]

_LOOK_S = 0.1


class RefusedRequest(HeftError):
    """A service has refused a request; `code` is the exit code that it means."""

    def __init__(self, text: str, code: int) -> None:
        self.code = ExitCode(code)
        super().__init__(text)


class ServiceClient:
    """Asks a service; RefusedRequest where it says no, BusError where nobody answers."""

    def __init__(self, endpoint: Endpoint, timeout_s: float = 5.0) -> None:
        self._client = ControlClient(endpoint, timeout_s=timeout_s)
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.__aexit__(*exc)

    async def ask(self, what: str, *, timeout_s: float | None = None, **facts: Any) -> dict[str, Any]:
        """One request and its answer."""
        async with self._lock:
            try:
                reply = await self._client.request(what, facts, timeout_s=timeout_s)
            except RemoteError as exc:
                raise RefusedRequest(exc.text, ExitCode.FAILED) from exc
        if "refused" in reply.payload:
            raise RefusedRequest(reply.payload["refused"], reply.payload["code"])
        answer: dict[str, Any] = json.loads(bytes(reply.buffers[0]))
        return answer

    async def outcome(self, number: int) -> dict[str, Any]:
        """Of a job, when it has one."""
        while True:
            found = (await self.ask("outcome", number=number))["outcome"]
            if found is not None:
                return dict(found)
            await asyncio.sleep(_LOOK_S)
