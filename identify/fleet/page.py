"""The fleet's page: one HTML file that needs nothing else; small multiples of each arm, changes marked, worst first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib.resources import files

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.fleet.drift import Drifted, DriftEvent, SeriesReport
from heft.identify.result.report.markup import text
from heft.identify.result.report.numbers import plain
from heft.identify.result.report.page import POLICY, asset

__all__ = ["render"]

Link = Callable[[str], str | None]

WIDTH, HEIGHT = 240.0, 84.0  # of a panel's own coordinates
#: Points of a panel: of more, means of neighbours are drawn.
MOST_POINTS = 120
#: Last sessions of an arm that are listed with their links.
LISTED = 8
STYLE = files("heft.identify.fleet").joinpath("assets", "fleet.css").read_text(encoding="utf-8")


def render(events: Sequence[DriftEvent], reports: Sequence[SeriesReport], link: Link) -> str:
    """The page as text. `link` gives the place of a session's own page, or None. Equal inputs give equal pages."""
    arms: dict[tuple[str, str], list[SeriesReport]] = {}
    for report in reports:
        arms.setdefault((report.series.robot, report.series.arm), []).append(report)
    of: dict[tuple[str, str], list[DriftEvent]] = {}
    for event in events:
        of.setdefault((event.robot, event.arm), []).append(event)
    worst = sorted(arms, key=lambda arm: (-max((abs(e.main.z) for e in of.get(arm, [])), default=0.0), arm))
    changed = [arm for arm in worst if arm in of]
    grade = "care" if changed else "good"
    headline = (
        f"{len(changed)} of {len(arms)} arms have changed."
        if changed
        else f"None of {len(arms)} arms has changed as far as their sessions can tell."
    )
    listed = "".join(
        f'<li class="unfit"><a href="#{_anchor(event.robot, event.arm)}">{text(event.text)}</a>.</li>'
        for event in events
    )
    sections = "".join(_arm(arm, arms[arm], of.get(arm, []), link) for arm in worst)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>Fleet: {text(headline)} – Heft</title><style>{asset('report.css')}{STYLE}</style></head><body>"
        '<header><p class="brand">Heft</p><h1>Fleet</h1></header><main>'
        f'<section id="verdict" class="verdict {grade}" aria-labelledby="verdict-title">'
        f'<h2 id="verdict-title">{text(headline)}</h2><ol class="reasons">{listed}</ol></section>'
        f"{_tiles(arms, reports, events)}{_legend()}{sections}</main></body></html>\n"
    )


def _tiles(
    arms: dict[tuple[str, str], list[SeriesReport]],
    reports: Sequence[SeriesReport],
    events: Sequence[DriftEvent],
) -> str:
    sessions = sum(max((len(one.series) for one in own), default=0) for own in arms.values())
    joints = [one for one in reports if one.series.parameter.endswith(".friction")]
    friction = [one.tells_step for one in joints if np.isfinite(one.tells_step)]
    trends = [one.tells_trend for one in joints if np.isfinite(one.tells_trend)]
    tiles = [
        ("arms", str(len(arms)), f"{len({event.arm for event in events})} changed"),
        ("sessions", str(sessions), f"{len(reports)} series"),
    ]
    if friction:
        step = f"{plain(100 * float(np.median(friction)), 2)} %"
        tiles.append(("step of friction that 5 sessions mostly tell", step, "typical joint"))
    if trends:
        trend = f"{plain(100 * float(np.median(trends)), 2)} %"
        tiles.append(("trend a month that 60 sessions mostly tell", trend, "typical joint's friction"))
    shown = "".join(
        f"<li><b>{text(value)}</b><span>{text(name)}</span><small>{text(more)}</small></li>"
        for name, value, more in tiles
    )
    return f'<ul class="tiles">{shown}</ul>'


def _legend() -> str:
    return (
        '<p class="fine">Dots: what each session found; grey: 95 % of what sessions scatter about it; orange: '
        "the model with temperature, load and changes; red: since when it has changed.</p>"
    )


def _arm(
    arm: tuple[str, str], reports: Sequence[SeriesReport], events: Sequence[DriftEvent], link: Link
) -> str:
    """One arm: what changed, its panels, and its last sessions."""
    changed = {one.parameter for event in events for one in event.changes}
    first = [one for one in reports if one.series.parameter in changed]
    friction = [one for one in reports if one.series.parameter.endswith(".friction") and one not in first]
    rest = [one for one in reports if one not in first and one not in friction]
    said = "".join(_event(event, link) for event in events) or "<p>Nothing has changed.</p>"
    folded = (
        f"<details><summary>{len(rest)} more quantities</summary>{_panels(rest, changed)}</details>"
        if rest
        else ""
    )
    longest = max(reports, key=lambda one: len(one.series)).series
    sessions = ", ".join(_session(str(name), link) for name in longest.sessions[-LISTED:])
    return (
        f'<section class="fleet-arm" id="{_anchor(*arm)}"><h2>{text(arm[1])} <small>{text(arm[0])}</small></h2>{said}'
        f'{_panels([*first, *friction], changed)}{folded}<p class="fine">last sessions: {sessions}</p></section>'
    )


def _event(event: DriftEvent, link: Link) -> str:
    causes = "; ".join(f"{cause.text}: {cause.check}" for cause in event.causes)
    moved = "".join(f"<li>{_moved(one, link)}</li>" for one in event.changes)
    return f"<ul>{moved}</ul><p><b>What usually causes this:</b> {text(causes)}.</p>"


def _moved(one: Drifted, link: Link) -> str:
    half = 1.96 * one.std
    width = f"{100 * half:.2g} %" if one.log else f"{half:.2g} {one.unit}".rstrip()
    return f"{text(one.text)} ± {text(width)}, since {_session(one.session, link)}"


def _session(name: str, link: Link) -> str:
    place = link(name)
    return text(name) if place is None else f'<a href="{text(place)}">{text(name)}</a>'


def _panels(reports: Iterable[SeriesReport], changed: set[str]) -> str:
    return f'<div class="panels">{"".join(_panel(one, changed) for one in reports)}</div>'


def _panel(report: SeriesReport, changed: set[str]) -> str:
    """One quantity over time."""
    series = report.series
    y, _ = series.scaled
    half = 1.96 * report.noise.std
    low, high = (np.exp(y - half), np.exp(y + half)) if series.kind.log else (y - half, y + half)
    time = series.time.astype(np.float64)
    t, value, bottom, top, level = _thinned(time, series.value, low, high, report.level)
    began, span = time[0], max(float(time[-1] - time[0]), 1.0)
    size = max(float(top.max() - bottom.min()), 1e-300)
    x = 4 + (WIDTH - 8) * (t - began) / span

    def place(one: Array) -> Array:
        return 4 + (HEIGHT - 8) * (float(top.max()) - one) / size

    band = " ".join(
        f"{a:.1f},{b:.1f}"
        for a, b in [*zip(x, place(top), strict=True), *zip(x[::-1], place(bottom)[::-1], strict=True)]
    )
    dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x, place(value), strict=True))
    fitted = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, place(level), strict=True))
    since = "".join(
        f'<line class="since" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{HEIGHT:g}"/>'
        for at in (4 + (WIDTH - 8) * (time[one.first] - began) / span for one in report.changes)
    )
    marked = " changed" if series.parameter in changed else ""
    unit = f" {series.unit}" if series.unit else ""
    return (
        f'<figure class="panel{marked}"><figcaption><b>{text(series.parameter)}</b>'
        f"<span>{text(plain(float(series.value[-1]), 3))}{text(unit)}</span></figcaption>"
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{text(series.parameter)} over time">'
        f'<polygon class="band" points="{band}"/><path class="dots" d="{dots}"/>'
        f'<path class="fitted" d="{fitted}"/>{since}</svg>'
        f'<div class="ends"><span>{_day(began)}</span><span>{_day(time[-1])}</span></div></figure>'
    )


def _thinned(time: Array, *columns: Array) -> tuple[Array, ...]:
    """Time and columns, at most `MOST_POINTS` of each: means of neighbours."""
    every = -(-len(time) // MOST_POINTS)
    if every <= 1:
        return (time, *columns)
    starts = np.arange(0, len(time), every)
    counts = np.diff(np.append(starts, len(time)))
    return tuple(np.add.reduceat(one, starts) / counts for one in (time, *columns))


def _day(time_us: float) -> str:
    return f"{datetime.fromtimestamp(time_us * 1e-6, UTC):%Y-%m-%d}"


def _anchor(robot: str, arm: str) -> str:
    return text("".join(c if c.isalnum() else "-" for c in f"arm-{robot}-{arm}"))
