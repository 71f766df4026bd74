"""A follower's side of the archive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import zmq.asyncio

from daq.archive.messages import Delivery, Description
from daq.bus.endpoint import Endpoint
from daq.bus.requests import RequestClient
from daq.bus.security import Security

__all__ = ["ArchiveClient"]


class ArchiveClient:
    """Asks a session's archive; `follower` is the name it is known by there.

        async with ArchiveClient(Endpoint.parse("tcp://192.0.2.7:5570").archive, "worker") as archive:
            session = await archive.describe()
            delivery = await archive.fetch(session.session, {}, 0)

    Every call raises BusError where there is no answer in time, RemoteError where the answer is no.
    """

    def __init__(
        self,
        endpoint: str | Endpoint,
        follower: str,
        *,
        timeout_s: float = 5.0,
        context: zmq.asyncio.Context | None = None,
        security: Security | None = None,
    ) -> None:
        self.follower = follower
        self._client = RequestClient(
            "archive", endpoint, timeout_s=timeout_s, context=context, security=security
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.__aexit__(*exc)

    async def describe(self, *, timeout_s: float | None = None) -> Description:
        """The session that is there."""
        reply = await self._client.request("describe", timeout_s=timeout_s)
        return Description.decode(reply.payload, reply.buffers)

    async def fetch(self, session: str, blocks: Mapping[str, int], events: int) -> Delivery:
        """What follows for one who has so many Blocks of each stream and so many events of a session."""
        reply = await self._request("fetch", session, blocks=dict(blocks), events=events)
        return Delivery.decode(reply.payload, reply.buffers)

    async def tell(self, session: str, what: str, value: Any) -> None:
        """Say something on the session's bus: published under `worker/FOLLOWER/WHAT`."""
        await self._request("tell", session, what=what, value=value)

    async def leave(self, session: str) -> None:
        """Nothing more is needed of this session."""
        await self._request("leave", session)

    async def _request(self, name: str, session: str, **payload: Any) -> Any:
        return await self._client.request(name, {"session": session, "follower": self.follower, **payload})
