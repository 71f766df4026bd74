"""A real Dask cluster with TLS: scheduler and two workers as processes; one is killed, and then the scheduler."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SESSIONS = 10  # of `many`
COMMAND = ["-m", "heft", "fleet", "identify"]
WAIT_S = 120.0

Written = Callable[[Path], dict[str, bytes]]


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and a certificate that it signed."""
    folder = tmp_path_factory.mktemp("pem")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        folder,
        "req",
        "-x509",
        *curve,
        "-days",
        "30",
        "-subj",
        "/CN=ca",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
    )
    openssl(folder, "req", *curve, "-subj", "/CN=cluster", "-keyout", "key.pem", "-out", "cluster.csr")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30")
    openssl(folder, "x509", "-req", "-in", "cluster.csr", *signed, "-out", "cert.pem")
    return folder


class Cluster:
    """Scheduler and workers; those that are left are ended on exit."""

    def __init__(self, folder: Path, pem: Path) -> None:
        self._folder, self._stack = folder, ExitStack()
        self._tls = [
            "--tls-ca-file",
            f"{pem}/ca.pem",
            "--tls-cert",
            f"{pem}/cert.pem",
            "--tls-key",
            f"{pem}/key.pem",
        ]
        self.client = [
            "--tls-ca",
            f"{pem}/ca.pem",
            "--tls-cert",
            f"{pem}/cert.pem",
            "--tls-key",
            f"{pem}/key.pem",
        ]
        self.scheduler = self._start("scheduler", "--port", "0", "--protocol", "tls")
        self.workers = [self._start("worker", "--nthreads", "1", "--no-nanny") for _ in range(2)]
        self.address = json.loads(until(self._file.read_text))["address"]

    @property
    def _file(self) -> Path:
        return self._folder / "scheduler.json"

    def _start(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        if what == "worker":
            until(self._file.read_text)
        command = [sys.executable, "-m", "dask", what, "--host", "127.0.0.1", "--no-dashboard", *arguments]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        log = self._stack.enter_context((self._folder / f"{what}.log").open("ab"))
        process = subprocess.Popen(
            [*command, "--scheduler-file", str(self._file), *self._tls],
            cwd=self._folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
        self._stack.callback(end, process)
        return process

    def close(self) -> None:
        self._stack.close()


def end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


def until(ask: Callable[[], Any]) -> Any:
    """What it returns, as soon as that is something."""
    started = time.monotonic()
    while time.monotonic() - started < WAIT_S:
        try:
            if found := ask():
                return found
        except OSError:
            pass
        time.sleep(0.02)
    raise TimeoutError


@pytest.fixture
def cluster(tmp_path: Path, pem: Path) -> Iterator[Callable[[str], Cluster]]:
    with ExitStack() as stack:

        def make(name: str) -> Cluster:
            (tmp_path / name).mkdir()
            made = Cluster(tmp_path / name, pem)
            stack.callback(made.close)
            return made

        yield make


def identify(recordings: Path, out: Path, cluster: Cluster) -> subprocess.Popen[bytes]:
    command = [sys.executable, *COMMAND, str(recordings), "--out", str(out), "--json"]
    options = ["--on", cluster.address, "--triangles", "out", *cluster.client]
    return subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def answered(process: subprocess.Popen[bytes]) -> tuple[int, Any]:
    out, err = process.communicate(timeout=WAIT_S)
    return process.returncode, json.loads(out) if out else err


def test_a_cluster_with_tls_gives_the_same_answers_also_when_a_worker_is_killed(
    cluster: Callable[[str], Cluster],
    many: Path,
    written: Written,
    expected: dict[str, bytes],
    tmp_path: Path,
) -> None:
    here, out = cluster("one"), tmp_path / "out"
    process = identify(many, out, here)
    try:
        until(lambda: list(out.rglob("session.json")))
        here.workers[0].send_signal(signal.SIGKILL)
        code, said = answered(process)
    finally:
        end(process)
    assert (code, said["identified"]) == (0, SESSIONS)
    assert written(out) == expected


def test_a_killed_scheduler_loses_nothing_that_was_finished(
    cluster: Callable[[str], Cluster],
    many: Path,
    written: Written,
    expected: dict[str, bytes],
    tmp_path: Path,
) -> None:
    first, out = cluster("first"), tmp_path / "out"
    process = identify(many, out, first)
    try:
        until(lambda: list(out.rglob("session.json")))
        first.scheduler.send_signal(signal.SIGKILL)
        code, said = answered(process)
    finally:
        end(process)
    first.close()
    finished = len(list(out.rglob("session.json")))
    assert code == 4, said
    assert "scheduler is gone" in said["error"]
    assert 0 < finished < SESSIONS
    process = identify(many, out, cluster("second"))
    try:
        code, said = answered(process)
    finally:
        end(process)
    assert (code, said["unchanged"], said["identified"]) == (0, finished, SESSIONS - finished)
    assert written(out) == expected
