"""`payload.html`: everything that was picked up, on one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from heft.daq.whole_file import write_whole
from heft.terminal.payloads import com_text, mass_text, recognised_text

__all__ = ["write_payload_page"]

NAME = "payload.html"
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "article{border:1px solid #8886;border-radius:12px;padding:1rem 1.4rem;margin:1rem 0}"
    "b.mass{font-size:2.6rem;line-height:1.1}dt{opacity:.7}dd{margin:0 0 .4rem}code{overflow-wrap:anywhere}"
)


def write_payload_page(out: Path, robot: str, payloads: Sequence[Mapping[str, Any]]) -> Path:
    """Write it into the folder of the recordings; its path."""
    parts = "".join(_article(one) for one in payloads)
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{escape(robot)}: what was picked up</title><style>{_STYLE}</style>'
        f"</head><body><main><h1>{escape(robot)}: {len(payloads)} picked up</h1>{parts}</main></body></html>\n"
    )
    path = out / NAME
    write_whole(path, text.encode())
    return path


def _article(facts: Mapping[str, Any]) -> str:
    number, state = facts["number"], escape(str(facts["state"]))
    if "mass" not in facts:
        return f"<article><h2>{number}: {state}</h2><p>no weight</p></article>"
    rows = [("centre of mass, in the flange's frame", com_text(facts))]
    if "recognition" in facts:
        rows.insert(0, ("it is", recognised_text(facts["recognition"])))
    rows += [(name.upper(), str(facts["controllers"][name] or "")) for name in ("ur", "kuka")]
    rows += [("note", note) for note in facts["notes"]]
    rows.append(("recording", f"pickup-{number:03d}.mcap"))
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd><code>{escape(value)}</code></dd>" for name, value in rows if value
    )
    return (
        f"<article><h2>{number}: {state}</h2><p><b class='mass'>{escape(mass_text(facts))}</b></p>"
        f"<dl>{listed}</dl></article>"
    )
