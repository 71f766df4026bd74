"""The seam for authentication."""

from __future__ import annotations

from typing import Protocol

import zmq

__all__ = ["Security"]


class Security(Protocol):
    """Prepares a socket before it is bound or connected (keys, mechanisms); None: no authentication."""

    def before_bind(self, socket: zmq.Socket[bytes]) -> None:
        """The side that is connected to: who may come in."""
        ...

    def before_connect(self, socket: zmq.Socket[bytes]) -> None:
        """The side that connects: who I am, and whom I expect."""
        ...
