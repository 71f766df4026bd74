"""The verdict of `benchmarks/large.py` on the table of methods: it holds what the page says of them, and no less."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FILE = np.array([0.142, 0.041, 0.128])
#: As docs/large-robots.md has it.
ROWS: dict[str, tuple[list[float], int, float, float]] = {
    "ols": ([0.162, 0.293, 3.993], 31, 0.0166, 0.0181),
    "closest": ([0.2, 0.197, 3.586], 31, 0.0158, 0.0164),
    "masspoint": ([0.07, 0.062, 0.477], 0, 0.0158, 0.0161),
    "masspoint, no prior": ([0.193, 0.094, 0.425], 0, 0.0158, 0.0161),
    "sdp": ([0.044, 0.028, 0.088], 0, 0.0158, 0.0161),
    "manifold": ([0.044, 0.028, 0.088], 0, 0.0158, 0.0161),
}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("large")


def missed(large: ModuleType, **changed: Any) -> list[str]:
    rows = {**ROWS, **changed}
    made = [large.Row(name, np.array(row[0]), *row[1:]) for name, row in rows.items()]
    found: list[str] = large.missed(made, FILE)
    return found


def test_the_table_of_the_page_is_accepted(large: ModuleType) -> None:
    assert missed(large) == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"sdp": (ROWS["sdp"][0], 1, 0.0158, 0.0161)}, "sdp: 1 links that cannot exist"),
        ({"ols": (ROWS["ols"][0], 0, 0.0166, 0.0181)}, "ols: 0 links that cannot exist"),
        ({"manifold": ([0.044, 0.028, 0.2], 0, 0.0158, 0.0161)}, "manifold: no nearer to the truth"),
        ({"masspoint": ([0.15, 0.062, 0.477], 0, 0.0158, 0.0161)}, "masspoint: masses no nearer"),
        ({"sdp": (ROWS["sdp"][0], 0, 0.0158, 0.02)}, "sdp: no better than ols on unseen motion"),
        ({"masspoint": (ROWS["masspoint"][0], 0, 0.02, 0.0161)}, "masspoint: the prior changes"),
    ],
)
def test_what_does_not_hold_is_missed(large: ModuleType, changed: dict[str, Any], says: str) -> None:
    (line,) = missed(large, **changed)
    assert line.startswith(says)
