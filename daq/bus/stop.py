"""Stop: a channel of its own, so that a stop waits behind nothing.

Any process of this user may ask for a stop, with a reason; from elsewhere a peer whose key may. It is a convenience of
software and no safety function.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Self

import zmq
import zmq.asyncio

from heft.daq.bounded_json import bounded_text
from heft.daq.bus.channel import Channel
from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.keyring import Keyring, Role
from heft.daq.errors import BusError

__all__ = ["StopListener", "send_stop"]

_LONGEST_REASON = 500
_MOST_BYTES = 4096
#: Requests that are given out; who asks more often is acknowledged, and nothing more comes of it.
_MOST_REASONS = 100
#: A missed wake-up delays a stop by no more than this [s].
_GUARD_S = 0.05


class StopListener:
    """`async for reason in listener`: each request is acknowledged, then given out."""

    def __init__(
        self,
        endpoint: str | Endpoint,
        *,
        context: zmq.asyncio.Context | None = None,
        keyring: Keyring | None = None,
    ) -> None:
        self.endpoint = Endpoint.parse(endpoint)
        self._given_out = 0
        self._channel = Channel(
            "stop",
            zmq.ROUTER,
            guard_s=_GUARD_S,
            context=context,
            role=Role.STOP,
            keyring=keyring,
            most=_MOST_BYTES,
        )

    async def __aenter__(self) -> Self:
        self.endpoint = self._channel.bind(self.endpoint, mode=0o600)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._channel.close()

    async def wait(self) -> str:
        """The reason of the next request."""
        while True:
            name, (client, *parts) = await self._channel.receive_from()
            await self._channel.send([client, b"acknowledged"])
            self._given_out += 1
            if self._given_out <= _MOST_REASONS:
                said = parts[-1].decode(errors="replace") if parts else ""
                reason = bounded_text(said, _LONGEST_REASON) or "no reason given"
                return f"{name}: {reason}" if name else reason

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            yield await self.wait()


async def send_stop(
    endpoint: str | Endpoint,
    reason: str,
    *,
    timeout_s: float = 2.0,
    context: zmq.asyncio.Context | None = None,
    keyring: Keyring | None = None,
) -> None:
    """Ask the session at `endpoint` to stop and return when it has heard; BusError if it has not."""
    endpoint = Endpoint.parse(endpoint)
    channel = Channel(
        "stop",
        zmq.DEALER,
        guard_s=_GUARD_S,
        context=context,
        role=Role.STOP,
        keyring=keyring,
        most=_MOST_BYTES,
    )
    channel.connect(endpoint)
    try:
        async with asyncio.timeout(timeout_s):
            await channel.send([bounded_text(reason, _LONGEST_REASON).encode()])
            await channel.receive()
    except TimeoutError:
        raise BusError(
            f"stop: the session at {endpoint} did not acknowledge within {timeout_s:g} s; "
            "use the emergency stop of the arm"
        ) from None
    finally:
        channel.close()
