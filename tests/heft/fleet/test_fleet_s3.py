"""Recordings in an object store: an S3-compatible server on loopback, with the results of the files themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from heft.fleet.results import StoreResults, results_at
from heft.fleet.store import write_table
from heft.identify.fleet.table import Row
from heft.identify.fleet.triangles import KeptTriangles
from heft.main import main

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_process")]


@pytest.fixture
def bucket(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket with the fleet's recordings; its address."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        store = boto3.client("s3")
        store.create_bucket(Bucket="cellar")
        for path in sorted(fleet.rglob("*.mcap")):
            store.upload_file(str(path), "cellar", f"recordings/{path.relative_to(fleet)}")
        yield "s3://cellar/recordings"
        store.close()
    finally:
        server.stop()
        import s3fs

        s3fs.S3FileSystem.clear_instance_cache()


def test_recordings_in_a_bucket_have_the_results_of_files(
    bucket: str, fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import fsspec

    remote = ["fleet", "identify", f"{bucket}/arm0/*.mcap", "--out", str(tmp_path / "remote"), "--json"]
    assert main(remote) == 0
    assert json.loads(capsys.readouterr().out)["identified"] == 2
    local = [
        "fleet",
        "identify",
        f"{fleet}/arm0/*.mcap",
        "--out",
        str(tmp_path / "local"),
        "--triangles",
        "out",
    ]
    assert main([*local, "--json"]) == 0
    capsys.readouterr()
    for name in ("night0", "night2"):
        one, other = (tmp_path / place / name / "result.json" for place in ("remote", "local"))
        assert one.read_bytes() == other.read_bytes()
    with fsspec.open(f"{bucket}/arm0/night2.triangles.npz") as file:
        assert KeptTriangles.decoded(file.read()).source == "night2.mcap"
    assert main(remote) == 0
    assert json.loads(capsys.readouterr().out)["unchanged"] == 2
    together = [f"{bucket}/arm0/*.triangles.npz", "--group-by", "night", "--out", str(tmp_path / "kept")]
    assert main(["fleet", "identify", *together, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["identified"] == 2
    assert main(["fleet", "identify", "s3://nowhere/x.mcap", "--out", str(tmp_path / "none")]) == 2


def test_results_in_a_bucket_are_those_of_a_folder(
    bucket: str, fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import fsspec

    out = "s3://cellar/results/year"
    identify = ["fleet", "identify", f"{fleet}/arm1/*.mcap", "--triangles", "out", "--json", "--out"]
    assert main([*identify, out]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["identified"], said["out"], said["table"]) == (2, out, f"{out}/table")
    assert main([*identify, str(tmp_path)]) == 0
    capsys.readouterr()
    for name in ("night1", "night3"):
        with fsspec.open(f"{out}/{name}/result.json") as file:
            assert file.read() == (tmp_path / name / "result.json").read_bytes()
        with fsspec.open(f"{out}/{name}/0.triangles.npz") as file:
            assert KeptTriangles.decoded(file.read()).source == f"{name}.mcap"
    assert main([*identify, out]) == 0
    assert json.loads(capsys.readouterr().out)["unchanged"] == 2
    rows = []
    for place in (out, str(tmp_path)):
        assert main(["fleet", "table", place, "--where", "parameter=*.mass", "--json"]) == 0
        rows.append(json.loads(capsys.readouterr().out)["rows"])
    assert rows[0] == rows[1] != []
    assert main(["fleet", "report", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["page"] == f"{out}/fleet.html"
    with fsspec.open(f"{out}/fleet.html") as file:
        assert b"<h1>Fleet</h1>" in file.read()
    assert main([*identify, "s3://no-such-bucket/results"]) == 2


def test_the_page_links_to_results_that_it_does_not_fetch(
    bucket: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Row(**dict.fromkeys(Row.__dataclass_fields__, ""))  # type: ignore[arg-type]
    numbers = {"value": 1.0, "std": 0.1, "low": 0.8, "high": 1.2, "time": 1_780_000_000_000_000, "load": 0.0}
    said = {"robot": "r", "arm": "a", "parameter": "joint1.friction", "prior_dominated": False}
    rows = [
        replace(table, **numbers, **said, cutoff_hz=8.0, temperature=300.0, session=name).to_dict()
        for name in ("first", "second", "third")
    ]
    results = results_at("s3://cellar/linked")
    write_table(results, rows)
    results.write("first/report.html", b"a page")
    results.write("first/result.json", b"{}")
    results.write("second/result.json", b"{}")
    fetched: list[str] = []
    read = StoreResults.read

    def recorded(self: StoreResults, name: str) -> bytes | None:
        fetched.append(name)
        return read(self, name)

    monkeypatch.setattr(StoreResults, "read", recorded)
    assert main(["fleet", "report", "s3://cellar/linked", "--json"]) == 0
    capsys.readouterr()
    assert fetched == ["table/robot=r/sessions.parquet"]
    page = (read(StoreResults("s3://cellar/linked"), "fleet.html") or b"").decode()
    assert 'href="first/report.html"' in page
    assert 'href="second/result.json"' in page
    assert 'href="third' not in page


def test_a_session_that_fails_takes_its_result_out_of_the_bucket(bucket: str, tmp_path: Path) -> None:
    results = results_at("s3://cellar/removed")
    results.write("a/result.json", b"{}")
    results.write("b/c/result.json", b"{}")
    results.remove("a/result.json")
    results.remove("a/result.json")
    assert results.find("result.json") == ["b/c/result.json"]
    assert (results.read("a/result.json"), results.read("b/c/result.json")) == (None, b"{}")
    assert results_at("s3://cellar/elsewhere").find("result.json") == []
