"""Control: requests and their answers, on this host; from elsewhere by peers whose key may.

    async with ControlServer(endpoint, {"play": play}):     # where the drives are
        ...
    async with ControlClient(endpoint) as client:           # where the trajectory is
        await client.request("play", *setpoint_codec.encode(chunk))

A request is answered when its handler has returned, so whoever awaits it knows that a chunk has been taken
up. On a simulated clock the sender keeps time still meanwhile: it is a participant, or opens `clock.hold()`;
and a handler that needs time to pass must then not be waited for.
"""

from __future__ import annotations

from collections.abc import Mapping

import zmq.asyncio

from heft.daq.bus.endpoint import Endpoint
from heft.daq.bus.keyring import Keyring, Role
from heft.daq.bus.requests import Handler, Reply, Request, RequestClient, RequestServer

#: The longest buffer of a request [byte]: a second of 32 axes at 4 kHz.
MOST_BYTES = 1 << 20

__all__ = ["ControlClient", "ControlServer", "Handler", "Reply", "Request"]


class ControlServer(RequestServer):
    """Answers requests that can move the arm: where another host could reach it, only of peers that may."""

    def __init__(
        self,
        endpoint: str | Endpoint,
        handlers: Mapping[str, Handler],
        *,
        context: zmq.asyncio.Context | None = None,
        keyring: Keyring | None = None,
    ) -> None:
        super().__init__(
            "control",
            endpoint,
            handlers,
            mode=0o600,
            context=context,
            role=Role.CONTROL,
            keyring=keyring,
            most=MOST_BYTES,
        )


class ControlClient(RequestClient):
    """Sends requests, one at a time; for a long one beside others open a second client."""

    def __init__(
        self,
        endpoint: str | Endpoint,
        *,
        timeout_s: float = 5.0,
        context: zmq.asyncio.Context | None = None,
        keyring: Keyring | None = None,
    ) -> None:
        super().__init__(
            "control", endpoint, timeout_s=timeout_s, context=context, role=Role.CONTROL, keyring=keyring
        )
