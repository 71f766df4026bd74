"""HTTP of a server that does not wait for ever: a connection whose request never becomes whole is closed.

Else a few hundred connections that say a byte now and then would keep everybody else out.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["ImpatientHttp"]

#: For the head of a request [s].
PATIENCE_S = 10.0


class ImpatientHttp(H11Protocol):
    """As uvicorn has it, with an end to the head of a request."""

    _impatience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first request is awaited."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        if self._impatience is not None:
            self._impatience.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A head that begins must end; one that is whole is answered."""
        super().data_received(data)
        if self._impatience is None and not self._answering():
            self._await_head()

    def _await_head(self) -> None:
        self._impatience = self.loop.call_later(PATIENCE_S, self._look)

    def _look(self) -> None:
        self._impatience = None
        transport: Any = self.transport
        if transport.get_protocol() is self and not self._answering():  # else it has become a websocket
            transport.close()

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete
