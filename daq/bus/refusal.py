"""Why a connection does not come about: what ZMQ knows and keeps to itself, in words."""

from __future__ import annotations

import zmq
import zmq.asyncio
from zmq.utils.monitor import parse_monitor_message

from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.keyring import Role
from heft.daq.errors import NotAuthorised

__all__ = ["RefusalWatch"]

_ADDRESS = "inproc://heft.handshake"
_EVENTS = (
    zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)
#: A handshake that breaks off is no refusal by itself, the session may have just ended; so many in a row are.
_MOST_BROKEN = 3


class RefusalWatch:
    """Watches a socket of this side from before it connects; `check` raises NotAuthorised once it was refused."""

    def __init__(
        self,
        context: zmq.asyncio.Context,
        socket: zmq.Socket[bytes],
        endpoint: Endpoint,
        role: Role,
        public: str | None,
    ) -> None:
        self._endpoint, self._role, self._public = endpoint, role, public
        self._watched = socket
        self._broken = 0
        self._words: str | None = None
        address = f"{_ADDRESS}.{id(self)}"
        socket.monitor(address, _EVENTS)
        self.socket = context.socket(zmq.PAIR)
        self.socket.connect(address)
        self._plain: zmq.Socket[bytes] = zmq.Socket.shadow(self.socket.underlying)

    def check(self) -> None:
        """Look at what has happened since."""
        while True:
            try:
                event = parse_monitor_message(self._plain.recv_multipart(zmq.NOBLOCK))["event"]
            except zmq.Again:
                break
            self._broken = self._broken + 1 if event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL else 0
            self._words = self._told(event)
        if self._words is not None:
            raise NotAuthorised(f"{self._endpoint}: {self._words}")

    def close(self) -> None:
        """Watch no longer."""
        self._watched.disable_monitor()
        self.socket.close(linger=0)

    def _told(self, event: int) -> str | None:
        host = self._endpoint.address
        if event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            return (
                f"not authorised: ask whoever runs the session on {host} to run "
                f"`heft keys allow NAME '{self._public}' --may {self._role}`"
            )
        if event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL or self._broken >= _MOST_BROKEN:
            if self._public is None:
                return (
                    "not authorised: this session, if it is one, asks for keys; "
                    f"use curve+{self._endpoint.wire} (`heft keys --help`)"
                )
            return (
                f"not authorised: whoever answers has not the key that is known as {host}'s, or asks for none; "
                f"compare it with `heft keys show` there, and run `heft keys trust {host} KEY`"
            )
        return None
