"""Do data and prior contradict what is demanded of the parameters?

Without the constraint A d = b, data and prior say d with covariance C. If all is right,

    (A d - b)' (A C A' + s^2)^-1 (A d - b)

is chi-squared, with as many degrees of freedom as A has independent rows; s is how well the constraint itself is known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import chdtrc

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.known_rows import EXACT
from heft.identify.certainty.wrist_posterior import wrist_posterior
from heft.identify.estimation.problem import Problem

__all__ = ["contradicted_constraints"]

CONTRADICTED = 1e-4  # chance of data and prior that are as far off if all is right
SAME = 1e-9  # of the largest singular value: rows that depend on each other


def contradicted_constraints(problem: Problem, base: Array, covariance: Array) -> tuple[str, ...]:
    """A warning for each equality that data and prior contradict.

    base         parameters by least squares, shape (n_base,), with their covariance (n_base, n_base)
    """
    equalities = problem.equalities
    if not len(equalities) or problem.prior is None:
        return ()
    free = replace(problem, declared=None, own=None)
    found, _ = wrist_posterior(free, problem.spread, base, covariance)
    p = len(problem.layout)
    root = found.prior.root[:p]
    lines = []
    for name in equalities.distinct:
        one = equalities.only(name)
        size = np.abs(one.rows) @ problem.scales
        rows = one.rows @ root / size[:, None]
        off = (one.rows @ found.parameters[:p] - one.values) / size
        known = np.hypot(one.std / size, EXACT)
        U, values, _ = np.linalg.svd(rows @ found.covariance @ rows.T + np.diag(known**2))
        kept = values > max(SAME * values[0], 2 * EXACT**2)
        chance = float(chdtrc(int(kept.sum()), float(((U.T @ off)[kept] ** 2 / values[kept]).sum())))
        if chance < CONTRADICTED:
            away = (
                f", {off[0] * size[0]:.3g} +- {2 * np.sqrt(values[0]) * size[0]:.2g} away"
                if len(one) == 1
                else ""
            )
            lines.append(
                f"constraint {name}: data and prior contradict it{away} (chance {chance:.0e}, above {CONTRADICTED:g} "
                "is expected); it holds in the answer: see that it is true, and that the prior is"
            )
    return tuple(lines)
