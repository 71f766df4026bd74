"""Everything that is said about how sure a fit is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from identify.alignment import Alignment, Delay
from identify.estimators.answer import Estimate
from identify.intervals.covariance import Spread, honest
from identify.intervals.delay_windows import delay_windows, moves
from identify.intervals.interval import Interval, quantile
from identify.intervals.jackknife import WINDOWS, jackknife
from identify.intervals.model_check import Doubt, doubts, stretches
from identify.intervals.position_noise import attenuation
from identify.intervals.quantities import quantities
from identify.intervals.scores import Influence, influence
from identify.intervals.windows import Windows
from identify.source import Source

__all__ = ["Assessment", "assess"]

WIDER = 2.0  # intervals that are this much wider than the formula for independent residuals are worth a word
BIASED = 0.5  # of a standard deviation


@dataclass(frozen=True)
class Assessment:
    """Covariance, delay and intervals of quantities by name, and the lines that a user should read.

    contradiction   what to say if a wrist sensor contradicts the joints, empty if it does not
    """

    spread: Spread
    delay: Delay
    influence: Influence
    intervals: dict[str, Interval]
    facts: dict[str, float]
    warnings: tuple[str, ...]
    contradiction: str = ""


def assess(alignment: Alignment, answer: Estimate) -> Assessment:
    """Look at the residuals once more."""
    source, problem = alignment.source, alignment.problem
    found = influence(source, problem, answer, alignment.estimated)
    bias = attenuation(source, problem, answer, found.spread)
    alike = max(source.processing.alikeness(1 / each.sampling.step_s) for each in source.surveys)
    doubtful = doubts(source, found.residuals)
    between = None
    if doubtful:
        between = jackknife(Windows.of(source, problem, answer, alignment.estimated, WINDOWS))
    spread = honest(problem, answer, found, bias, alike, between)
    data = source.datasets[0]
    half = quantile(spread.degrees) * spread.delay_s if alignment.estimated else 0.0
    delay = Delay(
        stream=data.torque_stream,
        against=data.motion_stream,
        value_s=alignment.delay_s,
        std_s=spread.delay_s if alignment.estimated else 0.0,
        low_s=alignment.delay_s - half,
        high_s=alignment.delay_s + half,
        estimated=alignment.estimated,
        windows=delay_windows(alignment.delay_s, found.delay, found.curvature, found.starts)
        if alignment.estimated
        else (),
    )
    lines = [*alignment.warnings, *moves(delay), *_wide(spread, source.processing.cutoff_hz, found)]
    lines += _biased(spread, problem.base.names)
    lines += _doubtful(source, answer, found, doubtful)
    together = quantities(problem, answer, spread)
    spread = spread.with_prior(together.covariance)
    facts = {
        "rows": float(len(found.residuals.time)),
        "rows_left_out": float(
            1 - found.residuals.kept.mean()
        ),  # at gaps and at rest, as a share of all joints' rows
        "autocorrelated_rows": float(spread.lag),
        "typical_widening": float(np.median(spread.widening)),
    }
    return Assessment(
        spread,
        delay,
        found,
        together.intervals,
        facts,
        (*lines, *together.warnings),
        together.contradiction,
    )


def _wide(spread: Spread, cutoff_hz: float, found: Influence) -> list[str]:
    typical = float(np.median(spread.widening[found.known])) if found.known.any() else 1.0
    if typical < WIDER:
        return []
    return [
        f"residuals resemble their neighbours over {(spread.lag + 1) / (2 * cutoff_hz):.2g} s: intervals are "
        f"{typical:.1f} times wider than the usual formula has them, which takes residuals for independent"
    ]


def _doubtful(source: Source, answer: Estimate, found: Influence, doubtful: tuple[Doubt, ...]) -> list[str]:
    """Where the model does not hold, and what does not belong."""
    lines = []
    odd = stretches(source.robot.joints, found.residuals)
    if odd:
        shown = "; ".join(str(one) for one in odd[:4]) + ("; ..." if len(odd) > 4 else "")
        what = (
            "had no say"
            if answer.sample_weights is not None
            else "pull at the answer: leave them out, or use irls"
        )
        lines.append(
            f"some data do not belong to the rest (a knock, a touch, a bad sensor?): {shown}; they {what}"
        )
    if doubtful:
        lines.append(
            "the model does not hold for "
            + "; ".join(str(one) for one in doubtful)
            + ": friction of another form, "
            "elasticity or a wrong torque constant; parameters may be off by more than their intervals"
        )
    return lines


def _biased(spread: Spread, names: tuple[str, ...]) -> list[str]:
    std = np.sqrt(np.diag(spread.covariance))
    share = np.divide(np.abs(spread.bias), std, out=np.zeros_like(std), where=np.isfinite(std) & (std > 0))
    worst = int(np.argmax(share))
    if share[worst] < BIASED:
        return []
    return [
        f"noise of the positions biases {int((share >= BIASED).sum())} base parameters by more than half a standard "
        f"deviation (most: {names[worst].split(' ')[0]}); intervals allow for it, a lower cut-off avoids it"
    ]
