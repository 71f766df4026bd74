"""How much of a stream there is in a recording."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self

__all__ = ["Extent"]


@dataclass(frozen=True, slots=True)
class Extent:
    """Blocks and samples of one stream, and the host times they cover [ns].

    `longest_ns` is the time from the first to the last sample of the longest Block: with it, a reader that
    looks for an interval knows which chunks it need not open.
    """

    blocks: int = 0
    samples: int = 0
    first_ns: int = 0
    last_ns: int = 0
    longest_ns: int = 0

    def grown(self, samples: int, first_ns: int, last_ns: int) -> Extent:
        """With one more Block."""
        return self.merged(Extent(1, samples, first_ns, last_ns, last_ns - first_ns))

    def merged(self, other: Extent) -> Extent:
        """With the Blocks of another."""
        if not self.blocks or not other.blocks:
            return self if self.blocks else other
        return Extent(
            self.blocks + other.blocks,
            self.samples + other.samples,
            min(self.first_ns, other.first_ns),
            max(self.last_ns, other.last_ns),
            max(self.longest_ns, other.longest_ns),
        )

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls(**json.loads(text))
