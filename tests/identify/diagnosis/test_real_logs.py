"""Known facts of real recordings, found by `heft check` without being told."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from gallery import EXHIBITS, Exhibit, checked
from recordings import DATA


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda one: one.name)
def test_the_known_fact_is_found(exhibit: Exhibit, tmp_path: Path) -> None:
    if not DATA.is_dir():
        pytest.skip(f"no recordings in {DATA}; set HEFT_DATA to their folder")
    findings = checked(exhibit, tmp_path)["findings"]
    assert exhibit.fact in {one["id"] for one in findings}
    assert (tmp_path / f"{exhibit.name}.html").is_file()
    if exhibit.name == "tx40":
        assert {one["severity"] for one in findings} == {"note"}
