"""HTML, escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Cell", "definitions", "section", "table", "text"]


def text(value: object) -> str:
    """Text that is only text."""
    return escape(str(value), quote=True)


@dataclass(frozen=True)
class Cell:
    """A cell with markup of its own. `number` puts it at the right."""

    html: str
    number: bool = False


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Cell | str]], *, caption: str, numeric: Sequence[int] = ()
) -> str:
    """A table that scrolls by itself where the page is narrow. The first cell of a row is its header.

    `columns` are texts, `numeric` the numbers of columns that are set at the right.
    """
    head = "".join(
        f'<th scope="col"{_number(i in numeric)}>{text(column)}</th>' for i, column in enumerate(columns)
    )
    body = []
    for row in rows:
        cells = [
            cell if isinstance(cell, Cell) else Cell(text(cell), i in numeric) for i, cell in enumerate(row)
        ]
        body.append(
            "<tr>"
            + "".join(
                f'<th scope="row">{cell.html}</th>'
                if i == 0
                else f"<td{_number(cell.number)}>{cell.html}</td>"
                for i, cell in enumerate(cells)
            )
            + "</tr>"
        )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def section(name: str, title: str, *parts: str) -> str:
    """A part of the page that the contents point to."""
    head = f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{text(title)}</h2>'
    return f"{head}{''.join(parts)}</section>"


def definitions(items: Iterable[tuple[str, str]]) -> str:
    """Terms and what there is to say of them."""
    return "<dl>" + "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in items) + "</dl>"


def _number(number: bool) -> str:
    return ' class="number"' if number else ""
