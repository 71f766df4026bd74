"""Robots: from YAML, URDF, MJCF or Denavit-Hartenberg rows, checked against Pinocchio when they are made."""

from __future__ import annotations

from heft.identify.bodies.prior_spread import PriorSpread
from heft.identify.robot.limits import Limits
from heft.identify.robot.robot import Robot

__all__ = ["Limits", "PriorSpread", "Robot"]
