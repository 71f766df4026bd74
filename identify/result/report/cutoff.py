"""Why this cut-off: what others would have cost, and the spectra that decided."""

from __future__ import annotations

import numpy as np

from heft.identify.estimation.cutoff import Spectrum, Tradeoff
from heft.identify.result import Result
from heft.identify.result.report.evidence import Evidence
from heft.identify.result.report.markup import Cell, section, table, text
from heft.identify.result.report.numbers import percent, plain
from heft.identify.result.report.plot import AxisRange, Line, plot

__all__ = ["cutoff_section"]

POINTS = 80  # of a line
LOWEST_DB = -20.0  # below the sensor's noise: not shown


def cutoff_section(result: Result, evidence: Evidence) -> str:
    """Candidates side by side, and the spectrum of every joint; one sentence where there was no look."""
    tradeoff = result.tradeoff
    if tradeoff is None:
        return ""
    why = "It was given." if tradeoff.given else f"It was chosen: {tradeoff.reason}."
    which = f"Torque and regressor go through one low-pass of {plain(tradeoff.cutoff_hz, 3)} Hz."
    if tradeoff.spectrum is None:
        why = "It was given" if tradeoff.given else "It is a safe value from the motion alone"
        return section("cutoff", "Why this cut-off", f"<p>{which} {text(f'{why}; {tradeoff.reason}.')}</p>")
    intro = (
        f"<p>{which} {text(why)}</p>"
        '<p class="fine">Of all cut-offs whose expected errors are within 5 % of the least, the highest is taken at '
        "which neither noise of the positions nor anything else that the model leaves out is heard. "
        f"From {plain(tradeoff.looked_s, 3)} s of the data.</p>"
    )
    legend = (
        '<ul class="legend"><li class="model">modelled torque</li><li class="rest">measured minus model</li>'
        '<li class="prior">from noise of the positions</li></ul>'
        '<p class="fine">Decibels above the sensor\u2019s own noise (dashed, at 0), over frequency; '
        "dashed upright: the cut-off.</p>"
    )
    spectrum, cutoff_hz = tradeoff.spectrum, tradeoff.cutoff_hz
    cards = "".join(
        _card(spectrum, cutoff_hz, j, joint)
        for j, joint in enumerate(result.robot.rows)
        if result.robot.measured_rows[j]
    )
    return section(
        "cutoff",
        "Why this cut-off",
        intro,
        _table(tradeoff),
        legend,
        f'<div class="cards wide">{cards}</div>',
    )


def _table(tradeoff: Tradeoff) -> str:
    rows: list[list[Cell | str]] = []
    for number, one in enumerate(tradeoff.candidates):
        name = f"{plain(one.cutoff_hz, 3)} Hz"
        chosen = number == tradeoff.chosen
        word = "given" if tradeoff.given else "chosen"
        rows.append(
            [
                Cell(f"<b>{text(name)}</b> {word}" if chosen else text(name)),
                percent(one.kept),
                f"{one.std:.3f}",
                f"{one.bias:.2f}",
                percent(one.position_noise),
                "\u2013" if one.residual is None else plain(one.residual, 3),
            ]
        )
    return table(
        [
            "cut-off",
            "torque kept",
            "std, relative",
            "bias, in std",
            "positions\u2019 share",
            "residual / sensor",
        ],
        rows,
        caption="What each cut-off keeps of the motion\u2019s torque; standard deviations (std); what noise of the "
        "positions biases, and makes of a residual; residual over the sensor\u2019s noise. The worst joint of each",
        numeric=range(1, 6),
    )


def _card(spectrum: Spectrum, cutoff_hz: float, j: int, joint: str) -> str:
    floor = float(spectrum.floor[j]) or 1.0
    x = np.linspace(spectrum.frequency[0], spectrum.frequency[-1], POINTS)
    kinds = {"prior": spectrum.positions, "model": spectrum.torque, "rest": spectrum.residual}
    lines = []
    for kind, values in kinds.items():
        level = 20 * np.log10(np.maximum(values[j] / floor, 1e-9))
        shown = np.interp(x, spectrum.frequency, level)
        lines.append(Line(kind, x, np.where(shown > LOWEST_DB, shown, np.nan)))
    scale = AxisRange.around(*(line.y for line in lines), np.zeros(1))
    end = float(x[-1])
    lines.append(Line("bound", np.array([0.0, end]), np.zeros(2)))
    lines.append(Line("bound", np.full(2, cutoff_hz), np.array([scale.low, scale.high]) * 0.98))
    label = f"Spectrum of the residual of {joint} against modelled torque and the sensor's noise"
    drawn = plot(lines, end, scale, label=label, unit="dB", kind="lags", x_unit="Hz")
    return f'<figure class="card"><figcaption><b>{text(joint)}</b></figcaption>{drawn}</figure>'
