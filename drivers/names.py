"""Names that people give to links, joints, frames and devices."""

from __future__ import annotations

import re

__all__ = ["label", "word"]

_WORD = re.compile(r"[\w.:/@~-]{1,100}")


def word(name: str) -> str:
    """`name`; ValueError where it is no word: it becomes part of other names, which blanks and signs part."""
    if not _WORD.fullmatch(name):
        raise ValueError(
            "a name is a word of at most 100 letters, digits and _ - . : / @ ~, without blanks; rename it"
        )
    return name


def label(name: str) -> str:
    """`name`; ValueError where it is empty, longer than a line, or holds what no terminal should be sent."""
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise ValueError("a name has 1 to 100 characters that can be printed; shorten or correct it")
    return name
