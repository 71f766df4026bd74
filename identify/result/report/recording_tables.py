"""How the data were recorded, what was noticed, and where the result comes from."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from heft.identify.data import KnownLoad
from heft.identify.data.account import GRID, USED
from heft.identify.data.deflection import Deflection
from heft.identify.estimation.alignment.delay import Delay
from heft.identify.result import Result
from heft.identify.result.provenance import DataOrigin
from heft.identify.result.report.acquisition import Acquisition
from heft.identify.result.report.evidence import Evidence
from heft.identify.result.report.markup import definitions, section, table, text
from heft.identify.result.report.numbers import count, plain

__all__ = ["notes_section", "provenance_section", "recordings_section"]


def notes_section(result: Result, evidence: Evidence) -> str:
    """Everything that was noticed on the way."""
    lines = [
        *result.warnings,
        *(f"{one.name}: {line}" for one in evidence.recordings for line in one.trouble),
    ]
    if not lines:
        return section("notes", "Notes and warnings", "<p>None.</p>")
    items = "".join(f"<li>{text(line)}</li>" for line in lines)
    return section("notes", "Notes and warnings", f'<ul class="notes">{items}</ul>')


def recordings_section(result: Result, evidence: Evidence) -> str:
    """Streams and clocks of every recording, and the delays that were taken out."""
    parts = [_recording(one) for one in evidence.recordings]
    parts += [_delays(result)] if result.delays else []
    parts += [_own_terms(result)] if result.recordings else []
    parts += [_deflection(one) for one in result.deflections]
    parts += [_account(one) for one in result.provenance.data if one.rows]
    return section("recordings", "How it was recorded", *parts) if parts else ""


def provenance_section(result: Result, evidence: Evidence) -> str:
    """All that it takes to find the same numbers again."""
    processing, configuration = result.processing, result.provenance.configuration
    items = [
        ("Robot", result.robot.name),
        ("Method", f"{result.method}, level {result.level}"),
        (
            "Low-pass",
            f"{plain(processing.cutoff_hz, 3)} Hz, zero phase; derivatives: {processing.derivative}",
        ),
        ("Joint terms", ", ".join(result.robot.terms).replace("_", " ") or "none"),
        *([] if result.friction is None else [("Friction", str(result.friction))]),
    ]
    items += [
        (f"Data {i}", f"{one.source}, {count(one.samples)} samples, {one.duration_s:.1f} s, hash {one.hash}")
        for i, one in enumerate(result.provenance.data, start=1)
    ]
    items += [
        (key.replace("_", " ").capitalize(), said)
        for key, value in configuration.items()
        if key not in ("method", "level") and (said := _said(value))
    ]
    items.append(("Software", ", ".join(f"{k} {v}" for k, v in result.provenance.versions.items())))
    items.append(("Again", "heft identify --reproduce result.json"))
    items.append(
        ("As a model file", "heft export result.json --urdf identified.urdf (or --mjcf, --csv, --yaml)")
    )
    return section("provenance", "Where the numbers come from", definitions(items))


def _said(value: Any) -> str:
    """A setting in words; empty where there is none."""
    if isinstance(value, Mapping):
        said = ((key.replace("_", " "), _said(one)) for key, one in value.items())
        return "; ".join(f"{key}: {one}" for key, one in said if one)
    if isinstance(value, list | tuple):
        return ", ".join(_said(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return plain(value)
    return "" if value is None else str(value)


def _deflection(found: Deflection) -> str:
    """How far the joints bend, and how stiff they are."""
    rows = [
        [
            joint,
            *(f"{1e3 * value:.3g}" for value in (offset, rms, largest)),
            f"{stiffness:.4g} \u00b1 {2 * std:.2g}" if isfinite(stiffness) else "\u2013",
        ]
        for joint, offset, rms, largest, stiffness, std in zip(
            found.joints,
            found.offset,
            found.rms,
            found.largest,
            found.stiffness,
            found.stiffness_std,
            strict=True,
        )
    ]
    return table(
        ["joint", "zeros apart mrad", "deflection rms mrad", "largest mrad", "stiffness N m/rad"],
        rows,
        caption=f"Links ({found.stream}, {1e3 * found.delay_s:.2f} ms older) against motors ({found.motors})",
        numeric=(1, 2, 3, 4),
    )


def _delays(result: Result) -> str:
    rows = []
    for delay in result.delays.values():
        low, high = (f"{1e3 * end:.2f}" for end in (delay.low_s, delay.high_s))
        windows = [1e3 * window.value_s for window in delay.windows]
        rows.append(
            [
                delay.stream,
                delay.against,
                f"{1e3 * delay.value_s:.2f}",
                _sure(delay, f"{low} \u2026 {high}"),
                f"{min(windows):.2f} \u2026 {max(windows):.2f}" if windows else "\u2013",
            ]
        )
    return table(
        ["stream", "against", "delay ms", "95 % interval", "in parts of the data"],
        rows,
        caption="Delays that were taken out before the fit",
        numeric=(2, 3, 4),
    )


def _own_terms(result: Result) -> str:
    """Offsets, delay and load of each of several recordings."""
    joints = list(result.recordings[0].offsets)
    rows = [
        [
            one.source,
            "\u2013" if one.load is None else str(KnownLoad.from_numbers(one.load)),
            f"{1e3 * one.delay.value_s:.2f}",
            *(plain(one.offsets[joint], 3) for joint in joints),
        ]
        for one in result.recordings
    ]
    return table(
        ["recording", "known load", "delay ms", *(f"offset of {joint}" for joint in joints)],
        rows,
        caption="What each recording has of its own: torque offsets [N m, N], delay of torques, load on the flange",
        numeric=range(2, 3 + len(joints)),
    )


def _sure(delay: Delay, interval: str) -> str:
    """An interval, or why there is none."""
    if not isfinite(delay.std_s):
        return "not known"
    return interval if delay.estimated else "given"


def _account(origin: DataOrigin) -> str:
    """What became of samples and rows, step by step."""
    rows = [[f"samples of {stream}", count(sent)] for stream, sent in origin.sent.items()]
    rows += [[f"\u2212 {reason}", count(number)] for reason, number in origin.removed.items() if number]
    rows.append(["samples used", count(origin.samples)])
    rows.append(["rows on the grid, all joints", count(origin.rows.get(GRID, 0))])
    rows += [
        [f"\u2212 {reason}", count(number)]
        for reason, number in origin.rows.items()
        if number and reason not in (GRID, USED)
    ]
    rows.append(["rows used", count(origin.rows.get(USED, 0))])
    return table(
        ["step", "number"], rows, caption=f"What each step left out of {origin.source}", numeric=(1,)
    )


def _recording(one: Acquisition) -> str:
    lost = f"{count(one.lost)} samples lost" if one.lost else "no sample lost"
    when = f", {one.started}" if one.started else ""
    parts = "; ".join(
        f"{segment.name}{'' if segment.use == segment.name else f' (for {segment.use})'} "
        f"{(segment.end_ns - segment.start_ns) * 1e-9:.1f} s"
        for segment in one.segments
    )
    streams = table(
        ["stream", "recorded", "expected", "lost", "gaps", "invalid", "Hz"],
        [
            [
                s.stream,
                count(s.recorded),
                *(_count(v) for v in (s.expected, s.lost, s.gaps, s.invalid)),
                _rate(s.rate_hz),
            ]
            for s in one.streams
        ],
        caption="Samples by the devices\u2019 own counters",
        numeric=range(1, 7),
    )
    clocks = table(
        ["device clock", "rate ppm", "jitter \u00b5s", "bend \u00b5s", "jumps"],
        [
            [
                c.device,
                f"{c.skew_ppm:+.2f}".replace("-", "\u2212"),
                f"{c.jitter_us:.1f}",
                f"{c.bend_us:.1f}",
                str(len(c.jumps_us)),
            ]
            for c in one.clocks
        ],
        caption="Clocks against the host\u2019s: rate, and how arrivals scatter about the fit",
        numeric=range(1, 5),
    )
    about = (
        f"<p>{one.duration_s:.1f} s{text(when)}; {lost}.{' Parts: ' + text(parts) + '.' if parts else ''}</p>"
    )
    return f"<h3>{text(one.name)}</h3>{about}{streams}{clocks if one.clocks else ''}"


def _count(value: int | None) -> str:
    return "\u2013" if value is None else count(value)


def _rate(value: float | None) -> str:
    return "\u2013" if value is None else f"{value:.1f}"
