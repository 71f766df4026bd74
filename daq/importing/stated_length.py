"""How long a file says it is: rows or seconds that a comment or its description states, against what it holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["StatedLength"]

ENOUGH = 0.95  # of what is stated: a last row more or less is no loss
_SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(
    r"\b(?:duration|length|total time)\b[^\w.-]{0,4}(\d+(?:\.\d+)?)\s*(ms|s|sec|min|h)(?:onds?|s|utes?)?\b",
    re.IGNORECASE,
)
_ROWS = re.compile(
    r"\b(?:n_|num_|number of |total_|total )?(?:rows|samples|frames|records)\s*[:=]\s*(\d+)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class StatedLength:
    """Rows and seconds that a file states; None where it does not."""

    rows: int | None = None
    seconds: float | None = None

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> StatedLength:
        """By the comments of a file (`# duration: 60 s`, `rows = 60000`)."""
        whole = "\n".join(texts)
        rows, duration = _ROWS.search(whole), _DURATION.search(whole)
        return cls(
            None if rows is None else int(rows[1]),
            None if duration is None else float(duration[1]) * _SECONDS[duration[2].lower()],
        )

    def shortfall(self, rows: int, seconds: float) -> str:
        """What is missing of a file that holds so much, as a sentence; "" where it is whole or states nothing."""
        if self.rows is not None and rows < ENOUGH * self.rows:
            return f"it holds {rows} rows, and states {self.rows}: it was cut off, or is only a part"
        if self.seconds is not None and seconds < ENOUGH * self.seconds:
            return (
                f"its rows end after {seconds:.4g} s, and it states {self.seconds:g} s: "
                "it was cut off, or is only a part"
            )
        return ""
