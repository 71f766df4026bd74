"""The report of a result: one HTML file, and figures as PNG."""

from __future__ import annotations

from identify.report.evidence import Evidence, Motion
from identify.report.figures import write_figures
from identify.report.page import write_report

__all__ = ["Evidence", "Motion", "write_figures", "write_report"]
