"""A small fleet of recordings, and a cluster inside this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.config.shipped import CONFIGS
from heft.identify.fleet.simulated.whole_session import WholeSession
from heft.identify.robot import Robot

HALF_DAY_NS = 43_200_000_000_000
FIRST_NS = 1_780_000_000_000_000_000


@pytest.fixture(scope="session")
def robot() -> Robot:
    return Robot.load(CONFIGS / "robots" / "ddarm.yaml")


@pytest.fixture(scope="session")
def write_fleet(robot: Robot) -> Callable[..., Path]:
    def write(folder: Path, sessions: int = 4, seconds: float = 6.0) -> Path:
        """Sessions of two arms in turn, `folder/armN/nightM.mcap`, half a day apart."""
        assert robot.prior is not None
        for i in range(sessions):
            path = folder / f"arm{i % 2}" / f"night{i}.mcap"
            path.parent.mkdir(parents=True, exist_ok=True)
            warm = np.full(len(robot.joints), 300.0 + i)
            WholeSession(
                robot,
                f"arm{i % 2}",
                robot.prior,
                FIRST_NS + i * HALF_DAY_NS,
                seconds,
                seed=i,
                temperature=warm,
            ).write(path)
        return folder

    return write


@pytest.fixture(scope="session")
def fleet(write_fleet: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_fleet(tmp_path_factory.mktemp("fleet") / "recordings")


@contextmanager
def threads(_: object = None) -> Iterator[Any]:
    """A cluster in this process: what is tested with it is not the engine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            host="127.0.0.1",
            protocol="tcp://",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heft.fleet.actions.identify.cluster_client", threads)


@pytest.fixture(scope="session")
def connect() -> Callable[[], Any]:
    return threads


@pytest.fixture(scope="session")
def many(write_fleet: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten recordings of 20 s: enough for something to be killed in the middle."""
    return write_fleet(tmp_path_factory.mktemp("many"), 10, 20.0)


@pytest.fixture(scope="session")
def written() -> Callable[[Path], dict[str, bytes]]:
    def of(out: Path) -> dict[str, bytes]:
        """Results and triangles of a run."""
        files = [*out.rglob("result.json"), *out.rglob("*.triangles.npz")]
        return {str(path.relative_to(out)): path.read_bytes() for path in files}

    return of


@pytest.fixture(scope="session")
def expected(
    many: Path, written: Callable[[Path], dict[str, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """Results and triangles of `many`, made in this process."""
    from heft.fleet.campaign import Campaign, sources_to_jobs
    from heft.fleet.results import FolderResults
    from heft.fleet.sources import find_sources

    out = tmp_path_factory.mktemp("expected")
    jobs = sources_to_jobs(find_sources([str(many)]))
    Campaign(tuple(jobs), FolderResults(out), beside=False).run(threads, lambda tally: None)
    return written(out)
