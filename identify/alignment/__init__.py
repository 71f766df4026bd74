"""Alignment: what delay is left between streams, found in the data themselves."""

from __future__ import annotations

from identify.alignment.delay import Delay, DelayWindow
from identify.alignment.torque_delay import Alignment, align

__all__ = ["Alignment", "Delay", "DelayWindow", "align"]
