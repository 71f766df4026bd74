"""Torque as rows that are linear in the parameters, for trees of revolute and prismatic joints."""

from __future__ import annotations

from identify.regressor.drives import DEFAULT_TERMS, Drives
from identify.regressor.layout import RowLayout
from identify.regressor.regressor import Regressor
from identify.regressor.tree import Tree, pose, squared

__all__ = ["DEFAULT_TERMS", "Drives", "Regressor", "RowLayout", "Tree", "pose", "squared"]
