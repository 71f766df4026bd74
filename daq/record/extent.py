"""How much of a stream there is in a recording."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self

from heft.daq.bounded_json import bounded_json
from heft.drivers.typed import check_types

__all__ = ["Extent"]


@dataclass(slots=True)
class Extent:
    """Blocks and samples of one stream so far, and the host times they cover [ns]; a counter that grows.

    `longest_ns` is the time from the first to the last sample of the longest Block: with it, a reader that
    looks for an interval knows which chunks it need not open.
    """

    blocks: int = 0
    samples: int = 0
    first_ns: int = 0
    last_ns: int = 0
    longest_ns: int = 0

    def grow(self, samples: int, first_ns: int, last_ns: int) -> None:
        """One more Block."""
        if not self.blocks or first_ns < self.first_ns:
            self.first_ns = first_ns
        if not self.blocks or last_ns > self.last_ns:
            self.last_ns = last_ns
        self.longest_ns = max(self.longest_ns, last_ns - first_ns)
        self.blocks += 1
        self.samples += samples

    def merge(self, other: Extent) -> None:
        """All the Blocks of another."""
        if other.blocks:
            self.first_ns = min(self.first_ns, other.first_ns) if self.blocks else other.first_ns
            self.last_ns = max(self.last_ns, other.last_ns) if self.blocks else other.last_ns
            self.longest_ns = max(self.longest_ns, other.longest_ns)
            self.blocks += other.blocks
            self.samples += other.samples

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        extent = cls(**bounded_json(text, most=10_000))
        check_types(extent)
        return extent
