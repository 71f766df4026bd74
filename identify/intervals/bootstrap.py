"""The block bootstrap: the whole estimate made anew from data drawn with replacement, as a check on the intervals.

The rows are cut into blocks that are longer than residuals remember; each replicate draws as many blocks as there are,
finds the torques' delay and runs the estimator, constraints and prior included. Blocks are kept as information
factors, so that a replicate costs the same however long the data are. Replicate k draws by seed and k alone: results do
not depend on how many workers share them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from identify.alignment import Alignment
from identify.alignment.torque_delay import REACH, settled
from identify.arrays import Array
from identify.errors import HeftError
from identify.estimators import estimate
from identify.estimators.answer import Estimate
from identify.intervals.covariance import Spread
from identify.reduction import Information

__all__ = ["Bootstrap", "bootstrap"]

BLOCKS = 40
LEAST_GOOD = 0.8  # of the replicates, without which there is nothing to compare
WIDER = 1.3  # standard deviations over those reported: worth a word


@dataclass(frozen=True)
class Bootstrap:
    """Standard deviations of `replicates` estimates over those that the result reports, in the median of each class.

    ratios   by class: `base parameters` of links, `friction` and other joint terms, `delay`
    failed   replicates that the estimator could not solve, left out
    """

    replicates: int
    failed: int
    ratios: Mapping[str, float] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, float]:
        """For a result."""
        facts = {"bootstrap_replicates": float(self.replicates), "bootstrap_failed": float(self.failed)}
        return facts | {
            f"bootstrap_ratio_{name.replace(' ', '_')}": ratio for name, ratio in self.ratios.items()
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should read."""
        lines = [
            f"a block bootstrap finds standard deviations {ratio:.1f} times those reported for {name}: take intervals "
            "as that much wider, and look for what changes during the session"
            for name, ratio in self.ratios.items()
            if ratio > WIDER
        ]
        if not self.ratios:
            lines.append(f"the bootstrap tells nothing: {self.failed} of {self.replicates} replicates failed")
        return tuple(lines)


def bootstrap(
    alignment: Alignment,
    answer: Estimate,
    spread: Spread,
    replicates: int,
    *,
    options: Mapping[str, Any],
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Bootstrap:
    """Estimate `replicates` times by the answer's method with its `options`; `progress` is told the share done.

    `workers` threads share them; None: as many as there are processors.
    """
    one = _Replicate(alignment, answer.method, dict(options), alignment.source.parts(BLOCKS), seed)
    count = len(os.sched_getaffinity(0)) if workers is None else workers
    found = []
    with ThreadPoolExecutor(count, thread_name_prefix="bootstrap") as pool:
        for k, values in enumerate(pool.map(one, range(replicates)), start=1):
            found.append(values)
            if progress is not None:
                progress(k / replicates)
    good = np.array([values for values in found if values is not None])
    failed = replicates - len(good)
    if len(good) < max(LEAST_GOOD * replicates, 2):
        return Bootstrap(replicates, failed)
    own = np.sqrt(good.var(axis=0, ddof=1) * BLOCKS / (BLOCKS - 1))
    told = np.sqrt(np.diag(spread.covariance))
    known = np.isfinite(told) & (told > 0)
    joint = np.array(
        [name.startswith(alignment.source.robot.joints) for name in alignment.problem.base.names]
    )
    ratios = {}
    for name, which in (("base parameters", known & ~joint), ("friction", known & joint)):
        if which.any():
            ratios[name] = float(np.median(own[:-1][which] / told[which]))
    if alignment.estimated and spread.delay_s > 0:
        ratios["delay"] = float(own[-1] / spread.delay_s)
    return Bootstrap(replicates, failed, ratios)


@dataclass(frozen=True)
class _Replicate:
    """Called with its number: base parameters and delay of one draw, shape (n_base + 1,); None where it failed."""

    alignment: Alignment
    method: str
    options: dict[str, Any]
    parts: tuple[Information, ...]
    seed: int

    def __call__(self, number: int) -> Array | None:
        count = len(self.parts)
        draw = np.random.default_rng([self.seed, number]).multinomial(count, np.full(count, 1 / count))
        source, delay_s = self.alignment.source, 0.0
        information = Information.drawn(self.parts, draw)
        problem = replace(self.alignment.problem, information=information)
        try:
            if self.alignment.estimated:
                problem, delay_s = settled(problem, REACH / source.processing.cutoff_hz)
            if problem.reweight is not None:
                rows = source.aligned(source.delay_s + delay_s).drawn(draw)
                problem = replace(problem, reweight=rows.reweight)
            return np.append(estimate(problem, self.method, **self.options).base, delay_s)
        except HeftError:
            return None
