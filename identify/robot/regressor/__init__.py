"""Torque as rows that are linear in the parameters, for trees of revolute and prismatic joints."""

from __future__ import annotations

from heft.identify.robot.regressor.cut import AXES, BASE, BIAS_TERMS, Contact, Cut, Part
from heft.identify.robot.regressor.drives import DEFAULT_TERMS, Drives
from heft.identify.robot.regressor.regressor import Regressor
from heft.identify.robot.regressor.row_layout import RowLayout
from heft.identify.robot.regressor.tree import Tree, pose, squared

__all__ = [
    "AXES",
    "BASE",
    "BIAS_TERMS",
    "DEFAULT_TERMS",
    "Contact",
    "Cut",
    "Drives",
    "Part",
    "Regressor",
    "RowLayout",
    "Tree",
    "pose",
    "squared",
]
