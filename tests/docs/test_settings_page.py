"""Every setting stands on its page with its default; keys of the robot's `constraints` stand on theirs."""

from __future__ import annotations

import re
from pathlib import Path

from heft.daq.config.constraints import ConstraintsConfig
from heft.identify.settings import SETTINGS

DOCS = Path(__file__).parents[2] / "docs"


def test_every_setting_and_no_other() -> None:
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([\w.]+)` \| ([^|]*) \|", page, re.M))
    assert told == {one.key: one.default for one in SETTINGS}


def test_every_constraint() -> None:
    page = (DOCS / "constraints.md").read_text(encoding="utf-8")
    assert [key for key in ConstraintsConfig.model_fields if f"  {key}:" not in page] == []
