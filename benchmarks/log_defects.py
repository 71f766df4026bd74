"""Defects of logs, each at three severities (0 mild, 1 moderate, 2 severe), made from a healthy one."""

from __future__ import annotations

import motion_defects  # noqa: F401  each module enters its defects, in this order of the table
import signal_defects  # noqa: F401
import time_defects  # noqa: F401
import unit_defects  # noqa: F401
from log_defect import DEFECTS, Defect

__all__ = ["DEFECTS", "Defect"]
