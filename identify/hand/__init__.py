"""The hand: everything beyond the wrist sensor, identified from wrenches."""

from __future__ import annotations

from identify.hand.body import carried_by
from identify.hand.hand import Hand, identify_hand

__all__ = ["Hand", "carried_by", "identify_hand"]
