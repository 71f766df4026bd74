"""Every kind of device is on a page, and every page says the same things in the same order."""

import re
from pathlib import Path

import pytest

from heft.drivers.registry import KINDS

FOLDER = Path(__file__).parents[3] / "docs" / "devices"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "README")
SECTIONS = ["Wiring", "Configuration", "Units", "Clock", "Known traps", "What was verified, and how"]
DRIVES = ("cia402", "dynamixel", "feetech", "mit_can", "moteus", "odrive_can", "ros2")


@pytest.mark.parametrize("page", PAGES)
def test_page_has_its_sections(page):
    lines = (FOLDER / f"{page}.md").read_text().splitlines()
    more = ["Without a brake"] if page in DRIVES else []
    assert [line[3:] for line in lines if line.startswith("## ")] == [*SECTIONS, *more]
    assert f"({page}.md)" in (FOLDER / "README.md").read_text()


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.simulated])
def test_every_kind_has_a_page(name):
    assert name in PAGES or any(f"`{name}`" in (FOLDER / f"{page}.md").read_text() for page in PAGES)


def test_tests_that_the_list_of_findings_names_are_there():
    named = set(re.findall(r"`(test_\w+)`", (FOLDER / "README.md").read_text()))
    tests = Path(__file__).parents[2].rglob("test_*.py")
    there = {name for path in tests for name in re.findall(r"def (test_\w+)", path.read_text())}
    assert named
    assert named <= there
