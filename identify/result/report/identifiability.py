"""What torques can tell of each parameter, and how evenly the motion showed it."""

from __future__ import annotations

from heft.identify.bodies.parameters import LINK_TERMS
from heft.identify.result import Result
from heft.identify.result.report.evidence import Evidence
from heft.identify.result.report.markup import Cell, section, table, text
from heft.identify.result.report.numbers import plain
from heft.identify.robot.base import base_parameters

__all__ = ["identifiability_section"]

SIGNS = {
    "identifiable": ("\u25cf", "alone", "torques tell it by itself"),
    "combined": ("\u25d0", "in a sum", "torques tell it only in a sum with others"),
    "unidentifiable": ("\u25cb", "never", "no torque of this arm depends on it"),
}
GOOD_CONDITION, WORST_CONDITION = 100.0, 500.0


def identifiability_section(result: Result, evidence: Evidence) -> str:
    """Counts, a sign per parameter, rank and condition number."""
    groups = base_parameters(result.robot).groups
    total = len(result.layout)
    bar = "".join(
        f'<span class="{group}" style="flex-grow:{len(groups[group])}"><b>{len(groups[group])}</b> {word}</span>'
        for group, (_, word, _) in SIGNS.items()
        if groups[group]
    )
    said = "; ".join(f"{len(groups[group])} {what}" for group, (_, _, what) in SIGNS.items())
    counts = f'<div class="stack" role="img" aria-label="Of {total} parameters: {text(said)}">{bar}</div>'
    sign_of = {name: group for group, names in groups.items() for name in names}
    legend = "".join(
        f'<li><b class="{group}">{sign}</b> {text(what)}</li>' for group, (sign, _, what) in SIGNS.items()
    )
    parts = [
        counts,
        f'<ul class="signs">{legend}</ul>',
        _grid(result.robot.links, LINK_TERMS, sign_of, "link"),
    ]
    joints = result.layout.joint_terms
    if joints:
        terms = list(dict.fromkeys(term for terms in joints.values() for term in terms))
        parts.append(_grid(tuple(joints), terms, sign_of, "joint"))
    return section("identifiability", "What torques can tell", _excitation(result), *parts)


def _excitation(result: Result) -> str:
    n, condition = len(result.base.names), result.condition_number
    rank = (
        f"The motion showed all {n} combinations"
        if result.rank == n
        else f"The motion showed only {result.rank} of the {n} combinations: move in more postures, and every joint"
    )
    if condition <= GOOD_CONDITION:
        how = "evenly"
    elif condition <= WORST_CONDITION:
        how = "evenly enough"
    else:
        how = "unevenly: some values are known far less well than others; move faster and in more postures"
    return (
        f"<p>{rank}, {how}. Condition number {plain(condition, 3)}; good motions have about {GOOD_CONDITION:.0f}, and "
        f"more than {WORST_CONDITION:.0f} asks for a better one.</p>"
    )


def _grid(
    owners: tuple[str, ...], terms: list[str] | tuple[str, ...], sign_of: dict[str, str], what: str
) -> str:
    rows = []
    for owner in owners:
        cells = [Cell(text(owner))]
        for term in terms:
            group = sign_of.get(f"{owner}.{term}")
            if group is None:
                cells.append(Cell(""))
                continue
            sign, word, _ = SIGNS[group]
            cells.append(Cell(f'<span class="sign {group}" role="img" aria-label="{word}">{sign}</span>'))
        rows.append(cells)
    columns = [what, *(term.replace("_", " ") for term in terms)]
    return f'<div class="grid">{table(columns, rows, caption=f"{what.capitalize()} parameters")}</div>'
