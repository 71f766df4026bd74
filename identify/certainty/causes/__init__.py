"""Causes of data that contradict the robot's file: scale and sign of torques, time, units, order, gravity."""

from __future__ import annotations

from heft.identify.certainty.causes.search import find_causes

__all__ = ["find_causes"]
