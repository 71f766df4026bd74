"""The table of folders on the architecture page is the one that the tree and the import contracts give."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
ROW = re.compile(r"^\| `([\w/*.]+)` \| (\d+) \| (\d+) \| (.*) \| (.*) \|$", re.M)
#: Sizes are told to the reader, not kept to the line.
SIZE = 0.25


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "docs" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_that_of_the_tree(house: ModuleType) -> None:
    told = [(folder, purpose, allowed) for folder, _, _, purpose, allowed in ROW.findall(PAGE.read_text())]
    assert told == [(folder, purpose, allowed) for folder, _, _, purpose, allowed in house.rows()], (
        "print it anew: python docs/house.py"
    )


def test_sizes_are_about_right(house: ModuleType) -> None:
    told = {folder: int(lines) for folder, _, lines, _, _ in ROW.findall(PAGE.read_text())}
    wrong = [f for f, _, lines, _, _ in house.rows() if abs(told[f] - lines) > SIZE * lines + 100]
    assert wrong == [], "print it anew: python docs/house.py"
