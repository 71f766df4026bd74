"""Assessment of an estimate: covariance, delay, intervals, and warnings about the data and the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from heft.identify.bodies.drive_gain import gain_covariance
from heft.identify.bodies.prior_spread import PriorSpread
from heft.identify.certainty.bootstrap import BootstrapCheck
from heft.identify.certainty.constraint_check import contradicted_constraints
from heft.identify.certainty.delay_windows import delay_windows, drift_warnings
from heft.identify.certainty.drive_gains import DriveGains, drive_gains, with_links
from heft.identify.certainty.influence import Influence
from heft.identify.certainty.interval import Interval, quantile
from heft.identify.certainty.jackknife import WINDOWS, Windows, jackknife
from heft.identify.certainty.model_check import UnmodelledResidual, outlier_intervals, unmodelled_residuals
from heft.identify.certainty.parameter_intervals import parameter_intervals
from heft.identify.certainty.position_noise import attenuation
from heft.identify.certainty.recording_terms import (
    RecordingTerms,
    mean_delay,
    recording_terms,
    widened_biases,
)
from heft.identify.certainty.scatter import Scatter
from heft.identify.certainty.uncertainty import Uncertainty, uncertainty_of
from heft.identify.estimation.alignment import Alignment, Delay
from heft.identify.estimation.estimate import Estimate
from heft.identify.information.fit_data import FitData
from heft.identify.robot import Robot

__all__ = ["Assessment", "assess"]

WIDER = 2.0  # intervals that are this much wider than the formula for independent residuals are worth a word
BIASED = 0.5  # of a standard deviation
DRIFTS = (
    4.0  # standard deviations of a sensor's drift: by chance in one of a thousand fits with three sensors
)


@dataclass(frozen=True)
class Assessment:
    """How far an estimate can be trusted.

    uncertainty     covariance of base parameters and delay
    delay           of torques against positions; the mean of several recordings' own
    sensors         delays of the six-axis sensors that have one of their own
    recordings      what each of several recordings has of its own
    intervals       of parameters by name
    facts           numbers for the result, by name
    warnings        lines for the result
    contradiction   the warning where a wrist sensor contradicts the joints, empty where it does not
    unmodelled      joints whose residuals are not noise
    gains           what the data say of the drives' gains
    """

    uncertainty: Uncertainty
    delay: Delay
    intervals: dict[str, Interval]
    facts: dict[str, float]
    warnings: tuple[str, ...]
    contradiction: str = ""
    unmodelled: tuple[UnmodelledResidual, ...] = ()
    recordings: tuple[RecordingTerms, ...] = ()
    gains: DriveGains | None = None
    sensors: tuple[Delay, ...] = ()

    def checked_by(self, check: BootstrapCheck) -> Self:
        """The same with the facts and warnings of a bootstrap."""
        return replace(self, facts=self.facts | check.facts, warnings=(*self.warnings, *check.warnings))


def assess(alignment: Alignment, estimate: Estimate, scatter: Scatter, spread: PriorSpread) -> Assessment:
    """Covariance, delay and intervals of an estimate with this scatter of its residuals.

    spread   of the prior as stated: links that are further off may as well be gains that are
    """
    data, problem = alignment.data.weighted(estimate.sample_weights), alignment.problem
    effect = scatter.effect
    bias = attenuation(data, problem, estimate, effect.spread)
    unmodelled = unmodelled_residuals(data, effect.residuals)
    between = None
    if unmodelled:
        between = jackknife(Windows.of(data, problem, estimate, alignment.estimated, WINDOWS))
    uncertainty = uncertainty_of(problem, estimate, scatter, bias, between)
    gains = _gains(alignment, estimate, effect, uncertainty, spread)
    gains, uncertainty, by_gain, gain_warnings = _with_gains(data.robot, gains, uncertainty)
    delays = _delays(alignment, effect, uncertainty)
    recordings = recording_terms(data, estimate.parameters, delays)
    lines = [*alignment.warnings, *(line for delay in delays for line in drift_warnings(delay))]
    lines += _widened(uncertainty, data.processing.cutoff_hz, effect)
    lines += _biased(uncertainty, problem.base.names)
    lines += _outliers(data, estimate, effect)
    lines += _unmodelled(unmodelled)
    lines += contradicted_constraints(problem, problem.base.matrix @ estimate.least_squares, uncertainty.data)
    lines += gain_warnings
    intervals = parameter_intervals(problem, estimate, uncertainty)
    lines += _sensor_drifts(data, intervals.intervals, recordings)
    uncertainty = uncertainty.with_prior(intervals.covariance)
    kept = effect.residuals.kept
    facts = {
        "rows": float(len(effect.residuals.time)),
        "rows_left_out": float(1 - kept.mean()),  # at gaps and at rest, as a share of all joints' rows
        "autocorrelated_rows": float(uncertainty.lag),
        "typical_widening": float(np.median(uncertainty.widening)),
    }
    return Assessment(
        uncertainty=uncertainty,
        delay=mean_delay(delays),
        intervals=widened_biases(intervals.intervals, recordings) | by_gain,
        facts=facts,
        warnings=tuple(lines),
        contradiction=intervals.contradiction,
        unmodelled=unmodelled,
        recordings=recordings,
        gains=gains,
        sensors=_sensor_delays(alignment, mean_delay(delays), uncertainty),
    )


def _gains(
    alignment: Alignment,
    estimate: Estimate,
    effect: Influence,
    uncertainty: Uncertainty,
    stated: PriorSpread,
) -> DriveGains:
    """What the data say of the drives' gains; residuals count for as much less as they widen intervals."""
    problem = replace(alignment.problem, spread=stated)
    spread = np.where(np.isfinite(effect.spread), effect.spread, 0.0)
    wider = float(np.median(uncertainty.widening[effect.known])) if effect.known.any() else 1.0
    gains = drive_gains(problem, estimate, spread, wider**2)
    return with_links(gains, problem, estimate)


def _with_gains(
    robot: Robot, gains: DriveGains, uncertainty: Uncertainty
) -> tuple[DriveGains, Uncertainty, dict[str, Interval], list[str]]:
    """The uncertainty with that of the gains, by the spread that the robot's file states; intervals of the gains, and a
    warning where some are not 1.

    Parameters stay those of the torques as the drives report them, so that they predict what the drives will report;
    gains that data or links contradict count as an error of that size.
    """
    wrenches = np.zeros(len(robot.rows) - len(robot.joints))  # sensors' gains are theirs to know
    spreads = np.concatenate([robot.gain_spreads, wrenches])
    if not spreads.any():
        return gains, uncertainty, {}, []
    logs, covariance = gains.posterior(gain_covariance(spreads))
    values, std = np.exp(logs), np.sqrt(np.diag(covariance))
    off_by = covariance + np.outer(values - 1.0, values - 1.0)
    wider, gains = gains.widening(off_by, uncertainty.data)
    uncertainty = replace(
        uncertainty, covariance=uncertainty.covariance + wider, data=uncertainty.data + wider
    )
    named = list(zip(robot.joints, values.tolist(), (values * std).tolist(), strict=False))
    intervals = {
        f"{joint}.gain": Interval.of(value, each, uncertainty.degrees, positive=True)
        for joint, value, each in named
    }
    off = [
        f"{joint} {value:.3f} +- {2 * each:.2g}" for joint, value, each in named if abs(value - 1) > 2 * each
    ]
    if not off:
        return gains, uncertainty, intervals, []
    told = (
        f"gains that these data or the prior contradict: torques should be multiplied by {'; '.join(off)}. "
        f"Parameters are "
        "those of the torques as reported; calibrate the gains with a weighed load (heft calibrate gains)"
    )
    return gains, uncertainty, intervals, [told]


def _delays(alignment: Alignment, effect: Influence, uncertainty: Uncertainty) -> tuple[Delay, ...]:
    """The torques' delays with their intervals, and in windows of the data; of no width where they were given."""
    data, estimated = alignment.data, alignment.estimated
    found = []
    for number, value in enumerate(alignment.delays_s):
        first = next(one for i, one in enumerate(data.datasets) if data.delay_group(i) == number)
        std = float(uncertainty.delays_s[number]) if estimated else 0.0
        half = quantile(uncertainty.degrees) * std
        own = effect.curvature[:, number] != 0
        windows = (
            delay_windows(
                value, effect.delays[own, number], effect.curvature[own, number], effect.starts[own]
            )
            if estimated
            else ()
        )
        found.append(
            Delay(
                stream=first.torque_stream,
                against=first.motion_stream,
                value_s=value,
                std_s=std,
                low_s=value - half,
                high_s=value + half,
                estimated=estimated,
                windows=windows,
            )
        )
    return tuple(found)


def _sensor_delays(alignment: Alignment, common: Delay, uncertainty: Uncertainty) -> tuple[Delay, ...]:
    """Of sensors that are not as old as the rest, each in all: what is common and its own.

    Their standard deviations are those of independent residuals, widened as the typical parameter's is.
    """
    wider = max(float(np.median(uncertainty.widening)), 1.0)
    found = []
    for one in alignment.sensors:
        imu = one.sensor in alignment.data.robot.imus  # the common delay is none of its
        value, std = one.own_s + (0.0 if imu else common.value_s), wider * one.std_s
        half = quantile(uncertainty.degrees) * std
        found.append(
            Delay(one.sensor, common.against, value, std, value - half, value + half, bool(np.isfinite(std)))
        )
    return tuple(found)


def _sensor_drifts(
    data: FitData, intervals: Mapping[str, Interval], recordings: Sequence[RecordingTerms]
) -> list[str]:
    """A line for each sensor with drifts that the data are sure of, in the recording where they are largest."""
    found: dict[str, list[str]] = {}
    for name, one in intervals.items():
        row, _, term = name.rpartition(".")
        if term != "drift":
            continue
        own = [terms.drifts[row] for terms in recordings if row in terms.drifts] or [one.value]
        value, std = max(own, key=abs), one.std * np.sqrt(len(own))
        if abs(value) > DRIFTS * std:
            sensor, _, axis = row.rpartition(".")
            found.setdefault(sensor, []).append(f"{axis} by {value:.2g} +- {2 * std:.1g} {one.unit}")
    whole = max((one.duration_s for one in data.datasets), default=0.0)
    return [
        f"the bias of {sensor} drifts: {', '.join(axes)} (in {whole:.0f} s); that is taken out of the data: let the "
        "sensor warm up before it is zeroed, or zero it more often"
        for sensor, axes in found.items()
    ]


def _widened(uncertainty: Uncertainty, cutoff_hz: float, effect: Influence) -> list[str]:
    """A warning where intervals are much wider than those of independent residuals."""
    typical = float(np.median(uncertainty.widening[effect.known])) if effect.known.any() else 1.0
    if typical < WIDER:
        return []
    return [
        f"residuals resemble their neighbours over {(uncertainty.lag + 1) / (2 * cutoff_hz):.2g} s: intervals are "
        f"{typical:.1f} times wider than the usual formula has them, which takes residuals for independent"
    ]


def _biased(uncertainty: Uncertainty, names: tuple[str, ...]) -> list[str]:
    """A warning where noise of the positions biases base parameters."""
    std = np.sqrt(np.diag(uncertainty.covariance))
    share = np.divide(
        np.abs(uncertainty.bias), std, out=np.zeros_like(std), where=np.isfinite(std) & (std > 0)
    )
    worst = int(np.argmax(share))
    if share[worst] < BIASED:
        return []
    return [
        f"noise of the positions biases {int((share >= BIASED).sum())} base parameters by more than half a standard "
        f"deviation (most: {names[worst].split(' ')[0]}); intervals allow for it, a lower cut-off avoids it"
    ]


def _outliers(data: FitData, estimate: Estimate, effect: Influence) -> list[str]:
    """A warning with the times at which a residual is far larger than usual."""
    outliers = outlier_intervals(data.robot.rows, effect.residuals)
    if not outliers:
        return []
    shown = "; ".join(str(one) for one in outliers[:4]) + ("; ..." if len(outliers) > 4 else "")
    what = "had no say" if estimate.method == "irls" else "pull at the answer: leave them out, or use irls"
    return [f"some data do not belong to the rest (a knock, a touch, a bad sensor?): {shown}; they {what}"]


def _unmodelled(unmodelled: tuple[UnmodelledResidual, ...]) -> list[str]:
    """A warning with the joints whose residuals are not noise."""
    if not unmodelled:
        return []
    return [
        "the model does not hold for "
        + "; ".join(str(one) for one in unmodelled)
        + ": friction of another form, "
        "elasticity or a wrong torque constant; parameters may be off by more than their intervals"
    ]
