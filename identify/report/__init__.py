"""The report of a result: one HTML file, and figures as PNG."""

from __future__ import annotations

from identify.report.evidence import Evidence, Motion
from identify.report.figures import write_figures
from identify.report.page import write_report
from identify.report.verdict import Verdict, verdict

__all__ = ["Evidence", "Motion", "Verdict", "verdict", "write_figures", "write_report"]
