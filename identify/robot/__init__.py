"""Robots: from YAML, URDF, MJCF or Denavit-Hartenberg rows, checked against Pinocchio when they are made."""

from __future__ import annotations

from identify.robot.limits import Limits
from identify.robot.prior_spread import PriorSpread
from identify.robot.robot import Robot

__all__ = ["Limits", "PriorSpread", "Robot"]
