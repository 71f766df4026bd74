"""The hand: everything beyond the wrist sensor, identified from wrenches."""

from __future__ import annotations

from identify.hand.hand import Hand, identify_hand

__all__ = ["Hand", "identify_hand"]
