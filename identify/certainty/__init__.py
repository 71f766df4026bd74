"""Certainty of an estimate: covariance, intervals, and checks of the model and of the data."""

from __future__ import annotations

from heft.identify.certainty.interval import Interval

__all__ = ["Interval"]
