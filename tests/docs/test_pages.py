"""Pages of documentation against the tree: links lead somewhere, and files and modules that they name are there."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: The changelog tells of files that have gone, too.
PAGES = sorted([*(ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *ROOT.glob("docs/**/*.md")])
SOURCES = sorted(
    path for folder in ("drivers", "daq", "identify", "heft") for path in (ROOT / folder).rglob("*.py")
)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
FILE = re.compile(r"`((?:drivers|daq|identify|heft|tests|benchmarks|configs|docs)/[\w./-]+)`")
MODULE = re.compile(r"`(heft\.(?:drivers|daq|identify)(?:\.[a-z_0-9]+)*)\b")
#: Stands for any name in a page that tells how to add something.
PLACEHOLDER = re.compile(r"[A-Z]{2,}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link, _ in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.parent.name != "decisions"],  # which tell of what was there before, too
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    names = [name for name in FILE.findall(page.read_text(encoding="utf-8")) if not PLACEHOLDER.search(name)]
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_modules_that_pages_and_docstrings_name_are_there() -> None:
    named = {
        (name, path)
        for path in [*PAGES, *SOURCES]
        for name in MODULE.findall(path.read_text(encoding="utf-8"))
    }
    missing = {name for name in {name for name, _ in named} if not _exists(name)}
    assert sorted((name, path.relative_to(ROOT).as_posix()) for name, path in named if name in missing) == []


def test_files_that_docstrings_name_are_there() -> None:
    named = {(name, path) for path in SOURCES for name in FILE.findall(path.read_text(encoding="utf-8"))}
    wrong = {
        (name, path) for name, path in named if not PLACEHOLDER.search(name) and not (ROOT / name).exists()
    }
    assert sorted((name, path.relative_to(ROOT).as_posix()) for name, path in wrong) == []


def _exists(name: str) -> bool:
    """Whether it is a module, or something in one."""
    module, _, attribute = name.rpartition(".")
    try:
        if importlib.util.find_spec(name) is not None:
            return True
    except ModuleNotFoundError:
        pass
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        return False
