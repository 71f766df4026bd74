"""Torques measured and predicted, joint by joint, and what is left of them."""

from __future__ import annotations

import numpy as np

from heft.identify.result import Result
from heft.identify.result.report.autocorrelation import autocorrelation
from heft.identify.result.report.evidence import Evidence, Motion
from heft.identify.result.report.markup import section, text
from heft.identify.result.report.numbers import percent, plain
from heft.identify.result.report.plot import AxisRange, Line, envelope, plot
from heft.identify.result.report.verdict import error_of

__all__ = ["residuals_section", "torques_section"]

POINTS = 40_000  # of all lines of the page together: it stays below 3 MB
LEAST_POINTS = 200
LEAST_CORRELATION = 0.4  # that the axis reaches

TITLES = {"unseen": "Motion that the fit has not seen (validation)", "seen": "Motion of the fit"}
_ZOOM = (
    '<div class="tools" role="toolbar" aria-label="Time window of these plots" hidden>'
    '<button type="button" data-do="in" aria-label="Zoom in">+</button>'
    '<button type="button" data-do="out" aria-label="Zoom out">\u2212</button>'
    '<button type="button" data-do="left" aria-label="Earlier">\u2190</button>'
    '<button type="button" data-do="right" aria-label="Later">\u2192</button>'
    '<button type="button" data-do="all">Whole motion</button>'
    '<span class="hint">drag across a plot to zoom; keys + \u2212 \u2190 \u2192 0</span></div>'
)


def torques_section(result: Result, evidence: Evidence) -> str:
    """Every motion with every joint; the first one open."""
    if not evidence.motions:
        return ""
    n = int(result.robot.measured_rows.sum())
    points = max(POINTS // (4 * n * len(evidence.motions)), LEAST_POINTS)
    prior = any(motion.prior is not None for motion in evidence.motions)
    before = '<li class="prior">known before (CAD)</li>' if prior else ""
    legend = (
        f'<ul class="legend"><li class="measured">measured</li>{before}<li class="model">identified model</li>'
        '<li class="rest">measured minus model, on a scale of its own</li></ul>'
    )
    intro = (
        f"<p>Both low-passed at {plain(result.processing.cutoff_hz, 3)} Hz, as in the fit. Where the model is good its "
        "line lies on the measured one, and what is left below looks like noise.</p>"
    )
    parts = [_motion(result, motion, points, number == 0) for number, motion in enumerate(evidence.motions)]
    return section("torques", "Torque, measured and predicted", intro, legend, *parts)


def residuals_section(result: Result, evidence: Evidence) -> str:
    """Autocorrelation of what is left, per joint, on the first motion; and what it means."""
    if not evidence.motions:
        return ""
    motion = evidence.motions[0]
    p, cards, systematic = motion.prediction, [], []
    for j, joint in enumerate(result.robot.rows):
        if not result.robot.measured_rows[j]:
            continue
        correlation = autocorrelation(p.time, p.residual[:, j], p.moving[:, j])
        if len(correlation.values) == 0:
            continue
        lags = correlation.step_s * np.arange(1, len(correlation.values) + 1)
        stems = Line(
            "stem", np.repeat(lags, 3), np.column_stack([0 * lags, correlation.values, np.nan + lags]).ravel()
        )
        ends = np.array([0.0, lags[-1]])
        bounds = [Line("bound", ends, np.full(2, side * correlation.bound)) for side in (-1.0, 1.0)]
        said = "like noise" if correlation.like_noise else f"a pattern ({plain(correlation.values[0], 2)})"
        if not correlation.like_noise:
            systematic.append(joint)
        label = f"Autocorrelation of the residual of {joint}: {percent(correlation.outside)} of the lags beyond chance"
        cards.append(
            f'<figure class="card"><figcaption><b>{text(joint)}</b> <span>{text(said)}</span></figcaption>'
            + plot(
                [*bounds, stems],
                lags[-1] * 1.02,
                AxisRange.around(np.array([LEAST_CORRELATION]), correlation.values, zero=True),
                label=label,
                unit="",
                kind="lags",
                x_ticks=3,
            )
            + "</figure>"
        )
    size = percent(error_of([motion], "model") or 0.0)
    if systematic:
        reading = (
            f"What the model leaves is {size} of the torque. For {', '.join(systematic)} it follows a pattern: a delay "
            "between position and torque, friction that is not of the model\u2019s form, elasticity, or a touch."
        )
    else:
        reading = (
            f"What the model leaves is {size} of the torque and does not repeat itself: it looks like noise, and the "
            "model\u2019s form fits this arm."
        )
    what = TITLES[motion.use].lower()
    intro = (
        f'<p>{text(reading)}</p><p class="fine">Correlation of measured minus model with itself some time later, '
        f"{text(what)}; dashed: what chance explains in 95 % of the lags.</p>"
    )
    return section("residuals", "Is what is left noise?", intro, f'<div class="cards">{"".join(cards)}</div>')


def _motion(result: Result, motion: Motion, points: int, first: bool) -> str:
    joints = "".join(
        _joint(result, motion, j, points) for j in np.flatnonzero(result.robot.measured_rows).tolist()
    )
    source = f"{motion.source}, {motion.duration_s:.1f} s"
    if motion.shown_s < motion.duration_s:
        source += f", of which the first {motion.shown_s:.0f} s"
    return (
        f'<details class="motion"{" open" if first else ""}><summary>{text(TITLES[motion.use])} '
        f"<small>{text(source)}</small></summary>{_ZOOM}{joints}</details>"
    )


def _joint(result: Result, motion: Motion, j: int, points: int) -> str:
    joint, p = result.robot.rows[j], motion.prediction
    time = p.time - p.time[0]
    used = p.moving[:, j]
    unit = "N" if result.robot.force_rows[j] else "N\u00b7m"
    residual = np.where(used, p.residual[:, j], np.nan)
    rms = float(np.sqrt(np.mean(p.residual[used, j] ** 2))) if used.any() else float("nan")
    size = float(np.sqrt(np.mean(p.measured[used, j] ** 2))) if used.any() else float("nan")
    lines = [Line("measured", *envelope(time, p.measured[:, j], points))]
    if motion.prior is not None:
        lines.append(Line("prior", *envelope(time, motion.prior[:, j], points)))
    lines.append(Line("model", *envelope(time, p.predicted[:, j], points)))
    end = float(time[-1]) if len(time) > 1 else 1.0
    label = (
        f"Torque of {joint} over {end:.0f} s, measured and predicted: from {plain(p.measured[:, j].min(), 3)} to "
        f"{plain(p.measured[:, j].max(), 3)} {unit}, the model off by {plain(rms, 2)} {unit} rms"
    )
    torque = plot(
        lines, end, AxisRange.around(*(line.y for line in lines)), label=label, unit=unit, kind="torque"
    )
    left = plot(
        [Line("rest", *envelope(time, residual, points))],
        end,
        AxisRange.around(residual, zero=True),
        label=f"Measured minus model of {joint}",
        unit=unit,
        kind="residual",
        most=3,
    )
    error = rms / size if size > 0 else float("nan")
    return (
        f'<figure class="joint" tabindex="0"><figcaption><b>{text(joint)}</b> '
        f"<span>off by {plain(rms, 2)} {unit} rms, {percent(error)}</span><output></output></figcaption>"
        f"{torque}{left}</figure>"
    )
