"""Friction from the data: which terms and velocities each joint's friction needs, by held-out prediction."""

from __future__ import annotations

from heft.identify.estimation.friction.choice import (
    FRICTION_TERMS,
    Friction,
    FrictionChoice,
    JointFriction,
    with_friction,
)
from heft.identify.estimation.friction.selection import choose_friction

__all__ = [
    "FRICTION_TERMS",
    "Friction",
    "FrictionChoice",
    "JointFriction",
    "choose_friction",
    "with_friction",
]
