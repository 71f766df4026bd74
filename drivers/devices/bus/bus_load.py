"""How much of a CAN bus a device needs, before it is opened: no bus carries more than it can.

A classic frame of n bytes has 47 + 8 n bits (67 + 8 n with a 29-bit identifier), the gap behind it included, and up to
one stuff bit for every four of those that can be stuffed. Of an FD frame with bit rate switch about 29 bits (48) go at
the slow rate, payload and checksum at the fast one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heft.drivers.errors import OptionError

__all__ = ["BusLoad", "Traffic"]

#: Above this share of the bus, worst stuffing assumed, frames wait too long for their turn.
HIGHEST = 0.8


@dataclass(frozen=True, slots=True)
class Traffic:
    """Frames of one kind: how many per second, and of how many bytes."""

    what: str
    per_second: float
    length: int
    extended: bool = False
    fd: bool = False

    def seconds(self, bitrate: int, data_bitrate: int, *, stuffed: bool) -> float:
        """Time on the bus of one frame [s]; `stuffed`: with as many stuff bits as there can be."""
        if self.fd:
            slow, fast = (48 if self.extended else 29), 8 * self.length + (32 if self.length <= 16 else 36)
            worst = 1.25 if stuffed else 1.0
            return worst * (slow / bitrate + fast / data_bitrate)
        bits = (67 if self.extended else 47) + 8 * self.length
        return (bits + ((bits - 13 - 1) // 4 if stuffed else 0)) / bitrate


@dataclass(frozen=True, slots=True)
class BusLoad:
    """All that is sent on one bus."""

    traffic: Sequence[Traffic]
    bitrate: int
    data_bitrate: int = 5_000_000

    def share(self, *, stuffed: bool = True) -> float:
        """Part of the bus' time that is taken."""
        return sum(
            t.per_second * t.seconds(self.bitrate, self.data_bitrate, stuffed=stuffed) for t in self.traffic
        )

    def check(self, device: str) -> None:
        """OptionError with the numbers where it is too much."""
        low, high = self.share(stuffed=False), self.share()
        if high > HIGHEST:
            frames = sum(t.per_second for t in self.traffic)
            parts = ", ".join(f"{t.what} {t.per_second:g}/s of {t.length} bytes" for t in self.traffic)
            raise OptionError(
                f"{device}: {frames:.0f} frames/s take {100 * low:.0f} to {100 * high:.0f} % of a bus of "
                f"{self.bitrate} bit/s, bound {100 * HIGHEST:.0f} % ({parts}); lower rate_hz, raise the bit rate, or "
                "use two buses"
            )
