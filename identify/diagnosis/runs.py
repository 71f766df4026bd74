"""The runs of a log: what lies between two breaks, as a log of its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from heft.identify.diagnosis.log import Log

__all__ = ["runs_of"]

FEWEST = 500  # samples of a run that is worth a look of its own


def runs_of(log: Log) -> list[Log]:
    """A log for each run that is long enough, in their order; none where the log is one run."""
    if not log.breaks:
        return []
    runs = []
    for start, end in pairwise((-np.inf, *log.breaks, np.inf)):
        tables = {}
        for key, one in log.tables.items():
            rows = (one.t >= start) & (one.t < end)
            host = None if one.host is None else one.host[rows]
            tables[key] = replace(one, t=one.t[rows], values=one.values[rows], host=host)
        if min(map(len, tables.values())) >= FEWEST:
            runs.append(replace(log, tables=tables, breaks=()))
    return runs
