"""What an import has said of its files: rows that were left out, and files that are shorter than they state."""

from __future__ import annotations

import json
from collections.abc import Mapping

from heft.identify.diagnosis.finding import Finding

__all__ = ["check_import"]

FIRST = 3  # that are told by number


def check_import(note: Mapping[str, str]) -> list[Finding]:
    """Findings by the note that an import leaves in its recording (`heft.import`); none where nothing was odd."""
    found = [
        Finding(
            "truncated",
            "serious",
            text.partition(": ")[0],
            text.partition(": ")[2],
            "a motion that ends early excites less than it was made for",
            "copy or record the file anew; what is there can be used as it is",
            None,
            52.0,
        )
        for text in json.loads(note.get("notes", "[]"))
    ]
    dropped = sum(json.loads(note.get("dropped", "{}")).values())
    if dropped:
        first = [text.partition(": ")[2] for text in json.loads(note.get("broken", "[]"))[:FIRST]]
        found.append(
            Finding(
                "garbage_rows",
                "note",
                "file",
                f"{dropped} rows could not be read and were left out: {'; '.join(first)}",
                "they are gaps in the recording",
                "look at these rows in the file",
                None,
                5.0,
            )
        )
    return found
