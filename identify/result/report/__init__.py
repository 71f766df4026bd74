"""The report of a result: one HTML file, and figures as PNG."""

from __future__ import annotations

from heft.identify.result.report.evidence import Evidence, Motion
from heft.identify.result.report.figures import write_figures
from heft.identify.result.report.page import write_report

__all__ = ["Evidence", "Motion", "write_figures", "write_report"]
