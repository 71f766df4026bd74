"""Datasets: motion and torque as measured, and how they become rows of a regression."""

from __future__ import annotations

from heft.identify.data.dataset import Dataset
from heft.identify.data.known_load import KnownLoad
from heft.identify.data.motion import Motion, choose_cutoff
from heft.identify.data.processing import Processing
from heft.identify.data.row_block import RowBlock
from heft.identify.data.rows import filtered_rows
from heft.identify.data.survey import Survey, survey

__all__ = [
    "Dataset",
    "KnownLoad",
    "Motion",
    "Processing",
    "RowBlock",
    "Survey",
    "choose_cutoff",
    "filtered_rows",
    "survey",
]
