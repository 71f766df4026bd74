"""The report's figures as PNG files, for slides and papers. Needs matplotlib (`pip install heft[figures]`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heft.identify.certainty.interval import quantile
from heft.identify.errors import ResultError
from heft.identify.result import Result
from heft.identify.result.report.arm_view import scene
from heft.identify.result.report.autocorrelation import autocorrelation
from heft.identify.result.report.evidence import Evidence, Motion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["write_figures"]

MODEL, MEASURED, PRIOR, REST = "#0a63c4", "#b4bcc6", "#b86200", "#0b7a6c"
DPI = 150


def write_figures(result: Result, folder: Path | str, evidence: Evidence) -> list[Path]:
    """Torques and autocorrelation of every motion, parameters, and the arm; the files that were written."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Figure] = {}
    for number, motion in enumerate(evidence.motions, start=1):
        figures[f"torques_{number}_{motion.use}"] = _torques(result, motion)
        figures[f"autocorrelation_{number}_{motion.use}"] = _autocorrelation(result, motion)
    figures["parameters"] = _parameters(result)
    figures["arm"] = _arm(result, evidence)
    written = []
    for name, figure in figures.items():
        written.append(folder / f"{name}.png")
        figure.savefig(written[-1], dpi=DPI, metadata={"Software": None})
    return written


def _figure(
    rows: int, columns: int, width: float, height: float, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as exc:
        raise ResultError("figures need matplotlib, which is missing; pip install heft[figures]") from exc
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, columns, **options)).ravel()
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, list(axes)


def _torques(result: Result, motion: Motion) -> Figure:
    p, rows = motion.prediction, np.flatnonzero(result.robot.measured_rows).tolist()
    figure, axes = _figure(len(rows), 1, 8.0, 1.6 * len(rows) + 0.6, sharex=True)
    time = p.time - p.time[0]
    for j, axis in zip(rows, axes, strict=True):
        joint, unit = result.robot.rows[j], "N" if result.robot.force_rows[j] else "N m"
        axis.plot(time, p.measured[:, j], color=MEASURED, linewidth=3, label="measured")
        if motion.prior is not None:
            axis.plot(
                time, motion.prior[:, j], color=PRIOR, linewidth=0.9, linestyle="--", label="known before"
            )
        axis.plot(time, p.predicted[:, j], color=MODEL, linewidth=1.1, label="identified model")
        axis.set_ylabel(f"{joint} [{unit}]")
    axes[0].legend(ncols=3, frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    axes[-1].set_xlabel("time [s]")
    return figure


def _autocorrelation(result: Result, motion: Motion) -> Figure:
    p, rows = motion.prediction, np.flatnonzero(result.robot.measured_rows).tolist()
    figure, axes = _figure(len(rows), 1, 6.0, 1.2 * len(rows) + 0.6, sharex=True, sharey=True)
    for j, axis in zip(rows, axes, strict=True):
        correlation = autocorrelation(p.time, p.residual[:, j], p.moving[:, j])
        lags = correlation.step_s * np.arange(1, len(correlation.values) + 1)
        axis.vlines(lags, 0, correlation.values, color=REST)
        axis.axhspan(-correlation.bound, correlation.bound, color=MEASURED, alpha=0.5, linewidth=0)
        axis.set_ylim(-1, 1)
        axis.set_ylabel(result.robot.rows[j])
    axes[-1].set_xlabel("lag [s]")
    return figure


def _parameters(result: Result) -> Figure:
    """Base parameters against what was known before, in standard deviations."""
    names = result.base.names
    figure, (axis,) = _figure(1, 1, 8.0, 0.2 * len(names) + 1.2)
    place = np.arange(len(names))[::-1]
    std = np.where(np.isfinite(result.base.std) & (result.base.std > 0), result.base.std, np.nan)
    half = quantile(result.base.degrees)
    axis.axvspan(-half, half, color=MEASURED, alpha=0.5, linewidth=0, label="95 % interval")
    axis.axvline(0.0, color=MODEL, label="identified")
    if result.prior is not None:
        moved = (result.base.matrix @ result.prior - result.base.values) / std
        axis.plot(moved, place, "o", color=PRIOR, markersize=4, fillstyle="none", label="known before")
        axis.set_xscale("symlog", linthresh=2.0)
    axis.set_yticks(place, [name if len(name) <= 48 else name[:46] + " ..." for name in names], fontsize=6)
    axis.set_ylim(-1, len(names))
    axis.set_xlabel("distance from the identified value [standard deviations]")
    axis.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    return figure


def _arm(result: Result, evidence: Evidence) -> Figure:
    """Seen from the front, from the side and from above."""
    from matplotlib.patches import Ellipse

    drawn = scene(result, evidence.motions[0].posture if evidence.motions else None)
    figure, axes = _figure(1, 3, 11.0, 4.2)
    for axis, (a, b), title in zip(axes, ((0, 2), (1, 2), (0, 1)), ("front", "side", "above"), strict=True):
        for line in drawn.skeleton:
            axis.plot(line[:, a], line[:, b], color="0.5", linewidth=2)
        for one in drawn.ellipsoids:
            values, vectors = np.linalg.eigh(one.shape[np.ix_((a, b), (a, b))])
            minor, major = 2 * np.sqrt(np.maximum(values, 0.0))
            identified = one.kind == "model"
            axis.add_patch(
                Ellipse(
                    (one.centre[a], one.centre[b]),
                    major,
                    minor,
                    angle=float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))),
                    facecolor=f"{MODEL}40" if identified else "none",
                    edgecolor=MODEL if identified else PRIOR,
                    linestyle="-" if identified else "--",
                )
            )
        axis.set_aspect("equal")
        axis.autoscale_view()
        axis.set_title(title)
        axis.set_xlabel(f"{'xyz'[a]} [m]")
        axis.set_ylabel(f"{'xyz'[b]} [m]")
    return figure
