"""A follower's side: reads a session's recording while it is being written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

import zmq.asyncio

from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.keyring import Keyring
from heft.daq.bus.requests import Reply, RequestClient
from heft.daq.errors import UnreadableAnswer
from heft.daq.following.messages import RecordedBytes, SessionInfo

__all__ = ["FollowClient"]


class FollowClient:
    """Asks a session; `follower` is the name it is known by there.

        async with FollowClient(Endpoint.parse("tcp://192.0.2.7:5570").following, "worker") as client:
            info = await client.describe()
            piece = await client.read(info.session, offset=0)

    Every call raises BusError where there is no answer in time, RemoteError where the answer is no.
    """

    def __init__(
        self,
        endpoint: str | Endpoint,
        follower: str,
        *,
        timeout_s: float = 5.0,
        context: zmq.asyncio.Context | None = None,
        keyring: Keyring | None = None,
    ) -> None:
        self.follower = follower
        self._client = RequestClient(
            "following", endpoint, timeout_s=timeout_s, context=context, keyring=keyring
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.__aexit__(*exc)

    async def describe(self) -> SessionInfo:
        """The session that is there."""
        return SessionInfo.decode((await self._client.request("describe")).payload)

    async def read(self, session: str, offset: int, length: int = 1 << 20) -> RecordedBytes:
        """Bytes of the session's recording from `offset` on, `length` at most; fewer, where fewer are there."""
        reply = await self._request("read", session, offset=offset, length=length)
        piece = RecordedBytes.decode(reply.payload, reply.buffers)
        if len(piece.data) > length:
            raise UnreadableAnswer(
                f"read: {len(piece.data)} bytes came, {length} were asked for; is it another version?"
            )
        return piece

    async def tell(self, session: str, what: str, value: Any) -> None:
        """Say something on the session's bus: published under `worker/FOLLOWER/WHAT`."""
        text = json.dumps(value, separators=(",", ":")).encode()
        await self._request("tell", session, [text], what=what)

    async def leave(self, session: str) -> None:
        """Nothing more is needed of this session."""
        await self._request("leave", session)

    async def _request(self, name: str, session: str, buffers: Sequence[bytes] = (), **payload: Any) -> Reply:
        facts = {"session": session, "follower": self.follower, **payload}
        return await self._client.request(name, facts, buffers)
