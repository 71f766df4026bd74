"""Stop: a channel of its own, so that a stop waits behind nothing.

Any process of this user may ask for a stop, with a reason. It is a convenience of software and no safety function.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Self

import zmq
import zmq.asyncio

from heft.daq.bus.channel import Channel
from heft.daq.bus.endpoint import Endpoint
from heft.daq.errors import BusError

__all__ = ["StopListener", "send_stop"]

_LONGEST_REASON = 500
#: A missed wake-up delays a stop by no more than this [s].
_GUARD_S = 0.05


class StopListener:
    """`async for reason in listener`: each request is acknowledged, then given out."""

    def __init__(
        self,
        endpoint: str | Endpoint,
        *,
        context: zmq.asyncio.Context | None = None,
    ) -> None:
        self.endpoint = Endpoint.parse(endpoint).require_local("stop")
        self._channel = Channel("stop", zmq.ROUTER, guard_s=_GUARD_S, context=context)

    async def __aenter__(self) -> Self:
        self.endpoint = self._channel.bind(self.endpoint, mode=0o600)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._channel.close()

    async def wait(self) -> str:
        """The reason of the next request."""
        client, *parts = await self._channel.receive()
        reason = parts[-1].decode(errors="replace").strip()[:_LONGEST_REASON] if parts else ""
        await self._channel.send([client, b"acknowledged"])
        return reason or "no reason given"

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            yield await self.wait()


async def send_stop(
    endpoint: str | Endpoint,
    reason: str,
    *,
    timeout_s: float = 2.0,
    context: zmq.asyncio.Context | None = None,
) -> None:
    """Ask the session at `endpoint` to stop and return when it has heard; BusError if it has not."""
    endpoint = Endpoint.parse(endpoint).require_local("stop")
    channel = Channel("stop", zmq.DEALER, guard_s=_GUARD_S, context=context)
    channel.connect(endpoint)
    try:
        async with asyncio.timeout(timeout_s):
            await channel.send([reason.encode()])
            await channel.receive()
    except TimeoutError:
        raise BusError(
            f"stop: the session at {endpoint} did not acknowledge within {timeout_s:g} s; "
            "use the emergency stop of the arm"
        ) from None
    finally:
        channel.close()
