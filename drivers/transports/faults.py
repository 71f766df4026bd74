"""Faults on command, for any line: what becomes of an item on its way."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from heft.drivers.transports.can_frame import FD_LENGTHS, CanFrame

__all__ = ["Delivery", "FaultInjector", "Faults"]

T = TypeVar("T", bytes, CanFrame)


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong on a line. Probabilities are per item and independent.

    drop        the item never arrives
    corrupt     one bit of it is flipped
    truncate    its end is cut off
    duplicate   it arrives twice
    delay_s     it arrives so much later [s], and whatever follows no earlier
    silence     nothing arrives, though the line stays up
    """

    drop: float = 0.0
    corrupt: float = 0.0
    truncate: float = 0.0
    duplicate: float = 0.0
    delay_s: float = 0.0
    silence: bool = False

    def __post_init__(self) -> None:
        for name in ("drop", "corrupt", "truncate", "duplicate"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} is {value}, a probability is from 0 to 1")
        if self.delay_s < 0.0:
            raise ValueError(f"delay_s is {self.delay_s} s, must not be negative")


class Delivery(NamedTuple, Generic[T]):
    """An item and when it is due at the other end [ns, host clock]."""

    due_ns: int
    item: T


class FaultInjector(Generic[T]):
    """Decides, reproducibly by its seed, what becomes of each item. Set `faults` at any time.

    Nothing overtakes: an item is due no earlier than the one before it.
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._last_due_ns = 0
        self.faults = Faults()

    def pass_on(self, item: T, now_ns: int) -> Sequence[Delivery[T]]:
        """What arrives of an item that is sent now: nothing, the item or what is left of it, once or twice."""
        faults = self.faults
        if faults.silence or self._happens(faults.drop):
            return ()
        whole = data = item if isinstance(item, bytes) else item.data
        if self._happens(faults.corrupt) and data:
            data = self._flip(data)
        if self._happens(faults.truncate) and data:
            data = self._cut(data)
        if data is not whole:
            item = data if isinstance(item, bytes) else replace(item, data=data)
        self._last_due_ns = max(self._last_due_ns, now_ns + round(faults.delay_s * 1e9))
        delivery = Delivery(self._last_due_ns, item)
        return (delivery, delivery) if self._happens(faults.duplicate) else (delivery,)

    def _happens(self, probability: float) -> bool:
        return probability > 0.0 and self._random.random() < probability

    def _flip(self, data: bytes) -> bytes:
        flipped = bytearray(data)
        flipped[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)
        return bytes(flipped)

    def _cut(self, data: bytes) -> bytes:
        lengths = (
            [length for length in FD_LENGTHS if length < len(data)] if len(data) <= 64 else range(len(data))
        )
        return data[: self._random.choice(lengths)]
