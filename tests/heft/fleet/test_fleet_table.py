"""The table: read by DuckDB and Polars, filtered on the command line, with the documented columns."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heft.fleet.results import FolderResults
from heft.fleet.store import read_table, write_table
from heft.identify.fleet.table import COLUMNS, SCHEMA_VERSION, failed_row
from heft.main import main

DOCS = Path(__file__).parents[3] / "docs" / "fleet.md"


@pytest.fixture(scope="module")
def run(fleet: Path, connect: Callable[[], Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from heft.fleet.campaign import Campaign, sources_to_jobs
    from heft.fleet.sources import find_sources

    out = tmp_path_factory.mktemp("run")
    campaign = Campaign(tuple(sources_to_jobs(find_sources([str(fleet)]))), FolderResults(out), beside=False)
    campaign.run(connect, lambda tally: None)
    return out


def test_duckdb_reads_it(run: Path) -> None:
    import duckdb

    (answer,) = duckdb.sql(
        f"select count(distinct session), min(temperature) from read_parquet('{run}/table/*/*.parquet', "
        "hive_partitioning = true) where robot = 'ddarm' and parameter like '%.mass'"
    ).fetchall()
    assert answer[0] == 4
    assert answer[1] == pytest.approx(300.0, abs=0.02)


def test_polars_reads_it(run: Path) -> None:
    import polars

    frame = polars.read_parquet(f"{run}/table/*/*.parquet", hive_partitioning=True)
    assert set(frame.columns) == set(COLUMNS)
    spans = frame.group_by("arm").agg(polars.col("time").max() - polars.col("time").min())
    assert {str(one) for one in spans["time"].to_list()} == {"1 day, 0:00:00"}


def test_command_filters(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--where", "arm=arm1", "--where", "parameter=*.mass"]
    assert main(["fleet", "table", str(run), *where, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["session"] for row in rows} == {"arm1/night1", "arm1/night3"}
    assert list(rows[0]) == list(COLUMNS)
    later = rows[0]["time"][:10]
    assert main(["fleet", "table", str(run), *where, "--where", "time>=2027-01-01", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"rows": []}
    assert later.startswith("2026-0")
    assert main(["fleet", "table", str(run), "--columns", "arm,value", "--rows", "2"]) == 0
    assert "more rows" in capsys.readouterr().out
    assert main(["fleet", "table", str(run), "--where", "colour=red"]) == 2
    assert main(["fleet", "table", str(run / "nothing")]) == 2


def test_nothing_is_cut_off_in_a_narrow_terminal(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["fleet", "table", str(run), "--where", "parameter=total_mass"]) == 0
    said = capsys.readouterr().out
    assert said.count("arm1/night3") == 1
    assert "…" not in said


def test_strange_names_and_other_schemas(tmp_path: Path) -> None:
    row = failed_row(
        session="a", source="b", digest="", reason="é", software="1", robot="a/b=c d", time_s=0.0
    )
    write_table(FolderResults(tmp_path), [row.to_dict()])
    (found,) = read_table(FolderResults(tmp_path)).to_pylist()
    assert found["robot"] == "a/b=c d"
    assert found["reason"] == "é"


def test_page_lists_every_column() -> None:
    text = DOCS.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)
    assert list(dict.fromkeys(name for name in listed if name in COLUMNS)) == list(COLUMNS)
    assert f"schema version {SCHEMA_VERSION}" in text
