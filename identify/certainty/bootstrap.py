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
from functools import partial

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.uncertainty import Uncertainty
from heft.identify.errors import HeftError
from heft.identify.estimation.alignment import Alignment
from heft.identify.estimation.alignment.torque_delay import REACH, settled
from heft.identify.estimation.estimators import Method, estimate
from heft.identify.information.reduction import Information

__all__ = ["Bootstrap", "BootstrapCheck", "replicate"]

BLOCKS = 40
LEAST_GOOD = 0.8  # of the replicates, without which there is nothing to compare
WIDER = 1.3  # standard deviations over those reported: worth a word


@dataclass(frozen=True)
class Bootstrap:
    """A block bootstrap to be made.

    replicates   estimates to make
    workers      threads that share them; None: one per processor. Results do not depend on it
    seed         of the draws
    progress     called with the share of the replicates that are done, 0 to 1
    """

    replicates: int
    workers: int | None = None
    seed: int = 0
    progress: Callable[[float], None] | None = None


@dataclass(frozen=True)
class BootstrapCheck:
    """Standard deviations of `replicates` estimates over those that the result reports, in the median of each class.

    ratios   by class: `base parameters` of links, `friction` and other joint terms, `delay`
    failed   replicates that the estimator could not solve, left out
    """

    replicates: int
    failed: int
    ratios: Mapping[str, float] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, float]:
        """Numbers for the result's `facts`."""
        facts = {"bootstrap_replicates": float(self.replicates), "bootstrap_failed": float(self.failed)}
        return facts | {
            f"bootstrap_ratio_{name.replace(' ', '_')}": ratio for name, ratio in self.ratios.items()
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Lines for the result: classes whose scatter exceeds the reported standard deviations."""
        lines = [
            f"a block bootstrap finds standard deviations {ratio:.1f} times those reported for {name}: take intervals "
            "as that much wider, and look for what changes during the session"
            for name, ratio in self.ratios.items()
            if ratio > WIDER
        ]
        if not self.ratios:
            lines.append(f"the bootstrap tells nothing: {self.failed} of {self.replicates} replicates failed")
        return tuple(lines)


def replicate(
    settings: Bootstrap, alignment: Alignment, method: Method, uncertainty: Uncertainty
) -> BootstrapCheck:
    """Replicate an estimate; compare the replicates' scatter with the standard deviations in `uncertainty`."""
    one = _Replicate(alignment, method, alignment.data.parts(BLOCKS), settings.seed)
    count = len(os.sched_getaffinity(0)) if settings.workers is None else settings.workers
    replicates = []
    with ThreadPoolExecutor(count, thread_name_prefix="bootstrap") as pool:
        for k, values in enumerate(pool.map(one, range(settings.replicates)), start=1):
            replicates.append(values)
            if settings.progress is not None:
                settings.progress(k / settings.replicates)
    good = np.array([values for values in replicates if values is not None])
    failed = settings.replicates - len(good)
    if len(good) < max(LEAST_GOOD * settings.replicates, 2):
        return BootstrapCheck(settings.replicates, failed)
    scatter = np.sqrt(good.var(axis=0, ddof=1) * BLOCKS / (BLOCKS - 1))
    reported = np.sqrt(np.diag(uncertainty.covariance))
    known = np.isfinite(reported) & (reported > 0)
    joint = np.array([name.startswith(alignment.data.robot.joints) for name in alignment.problem.base.names])
    ratios = {}
    for name, which in (("base parameters", known & ~joint), ("friction", known & joint)):
        if which.any():
            ratios[name] = float(np.median(scatter[:-1][which] / reported[which]))
    if alignment.estimated and len(uncertainty.delays_s) == 1 and uncertainty.delays_s[0] > 0:
        ratios["delay"] = float(scatter[-1] / uncertainty.delays_s[0])
    return BootstrapCheck(settings.replicates, failed, ratios)


@dataclass(frozen=True)
class _Replicate:
    """Called with its number: base parameters and delay of one draw, shape (n_base + 1,); None where it failed."""

    alignment: Alignment
    method: Method
    parts: tuple[Information, ...]
    seed: int

    def __call__(self, number: int) -> Array | None:
        count = len(self.parts)
        draw = np.random.default_rng([self.seed, number]).multinomial(count, np.full(count, 1 / count))
        data, delay_s = self.alignment.data, 0.0
        problem = replace(self.alignment.problem, information=Information.resampled(self.parts, draw))
        try:
            if self.alignment.estimated:
                problem, delay_s = settled(problem, REACH / data.processing.cutoff_hz)
            if problem.reweight is not None:
                rows = data.aligned([each + delay_s for each in data.delays_s])
                problem = replace(problem, reweight=partial(rows.reweight, counts=draw))
            return np.append(estimate(problem, self.method.name, **self.method.options).base, delay_s)
        except HeftError:
            return None
