"""The seam behind an archive: where the Blocks of a session are kept, by stream and number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

__all__ = ["Store"]


class Store(Protocol):
    """Encoded Blocks of every stream. Number 0 is the first one of its stream, in the order of recording."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Blocks so far, by stream; a stream without any may be missing."""
        ...

    async def take(self, stream: str, first: int, limit: int) -> list[bytes]:
        """Blocks from number `first` on, until they have `limit` bytes; none where they are not at hand yet."""
        ...

    def close(self) -> None:
        """Nothing more will be asked."""
        ...
