"""Every kind of device has its page, and every page says the same things in the same order."""

from pathlib import Path

import pytest

PAGES = Path(__file__).parents[3] / "docs" / "devices"
KINDS = (
    "amt21",
    "ati_rdt",
    "bota_serial",
    "cia402",
    "cia406",
    "mit_can",
    "moteus",
    "odrive_can",
    "onrobot_hex",
    "robotiq_2f",
    "robotiq_ft300",
)
SECTIONS = ["Wiring", "Configuration", "Units", "Clock", "Known traps", "What was verified, and how"]


@pytest.mark.parametrize("kind", KINDS)
def test_page_has_its_sections(kind):
    lines = (PAGES / f"{kind}.md").read_text().splitlines()
    assert [line[3:] for line in lines if line.startswith("## ")] == SECTIONS
    assert f"({kind}.md)" in (PAGES / "README.md").read_text()
