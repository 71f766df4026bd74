"""Friction from the data: which terms and velocities each joint's friction needs, by held-out prediction."""

from __future__ import annotations

from heft.identify.estimation.friction.choice import Friction, FrictionChoice, JointFriction, with_friction
from heft.identify.estimation.friction.selection import choose_friction

__all__ = ["Friction", "FrictionChoice", "JointFriction", "choose_friction", "with_friction"]
