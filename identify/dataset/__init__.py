"""Datasets: motion and torque as measured, and how they become rows of a regression."""

from __future__ import annotations

from identify.dataset.dataset import Dataset
from identify.dataset.motion import Motion, choose_cutoff
from identify.dataset.processing import Processing
from identify.dataset.rows import RowBlock, filtered_rows
from identify.dataset.survey import Survey, survey

__all__ = [
    "Dataset",
    "Motion",
    "Processing",
    "RowBlock",
    "Survey",
    "choose_cutoff",
    "filtered_rows",
    "survey",
]
