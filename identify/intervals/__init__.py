"""Intervals: how sure an identification can be of its answer."""

from __future__ import annotations

from identify.intervals.interval import Interval

__all__ = ["Interval"]
