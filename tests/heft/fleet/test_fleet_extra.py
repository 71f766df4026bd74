"""Without the extra, and with a scheduler that is not there: one clear line each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from heft.fleet.cluster import MALLOC, ClusterOptions, cluster_client
from heft.main import main


def test_without_the_extra_it_says_what_to_install(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["fleet", "identify", str(fleet), "--out", str(tmp_path)]) == 2
    assert "install heft[fleet]" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert main(["fleet", "identify", "s3://bucket/**", "--out", str(tmp_path)]) == 2
    assert "install heft[fleet]" in capsys.readouterr().err


def test_a_scheduler_that_is_not_there_is_told(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("heft.fleet.cluster.ANSWER_S", 0.3)
    assert main(["fleet", "identify", str(fleet), "--out", str(tmp_path), "--on", "tcp://127.0.0.1:1"]) == 4
    assert "no scheduler answers there" in capsys.readouterr().err


@pytest.mark.slow
def test_local_workers_keep_memory_that_they_will_need_again() -> None:
    """With Dask's own bound a session takes twice the processor time."""
    with cluster_client(ClusterOptions(workers=1)) as client:
        (found,) = client.run(_environment).values()
    assert {name: int(found[name]) for name in MALLOC} == MALLOC


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)
