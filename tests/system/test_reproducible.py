"""As fast as possible and with one seed, a session is the same to the last byte, whatever else the machine does."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcap.reader import make_reader

if TYPE_CHECKING:
    from tests.system.conftest import Bench, Process, Run

pytestmark = pytest.mark.xdist_group("reproducible")  # the tests share one session; run it once

BURN = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


@contextmanager
def load(processes: int) -> Iterator[None]:
    """So many other processes want a processor each."""
    burning = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def quiet(new_bench: Callable[[Path], Bench], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run that the others are compared with."""
    return new_bench(tmp_path_factory.mktemp("quiet")).run("--seed", "5")


def block_channels(run: Run) -> dict[str, str]:
    """A hash of each Block channel, read with the stock reader: every message with its number and its host times."""
    hashes = {}
    offset_ns = run.recording.utc_offset_ns
    with (run.folder / f"{run.name}.mcap").open("rb") as file:
        for _, channel, message in make_reader(file).iter_messages(log_time_order=False):
            if channel.topic.startswith("/heft/blocks/"):
                digest = hashes.setdefault(channel.topic, hashlib.sha256())
                digest.update(
                    f"{message.sequence} {message.log_time - offset_ns} {message.publish_time - offset_ns} ".encode()
                )
                digest.update(message.data)
    return {topic: digest.hexdigest() for topic, digest in hashes.items()}


@pytest.mark.slow
def test_one_seed_gives_one_recording_under_load_and_in_another_process(
    bench: Bench, start: Callable[..., Process], quiet: Run
) -> None:
    with load(1):
        busy = start("--seed", "5").finish()
    assert busy.code == 0, busy.err
    assert len(block_channels(quiet)) == 7
    assert block_channels(quiet) == block_channels(busy)
    assert quiet.recording.digest == busy.recording.digest
    assert quiet.recording.events == busy.recording.events
    assert quiet.truth == busy.truth


def test_faults_are_seeded_too(bench: Bench) -> None:
    bench.faults(
        {"kind": "burst", "device": "wrist", "rate": 0.05}, {"kind": "corrupt", "device": "encoders"}
    )
    first, second = bench.run("--seed", "5"), bench.run("--seed", "5")
    assert first.json["lost"] == second.json["lost"] > 0
    assert block_channels(first) == block_channels(second)


def test_another_seed_is_another_arm(bench: Bench, quiet: Run) -> None:
    other = bench.run("--seed", "6")
    mine, its = block_channels(quiet), block_channels(other)
    assert all(mine[topic] != its[topic] for topic in mine if topic != "/heft/blocks/arm.sent")
    assert mine["/heft/blocks/arm.sent"] == its["/heft/blocks/arm.sent"]  # the plan is the same
    assert quiet.truth["parameters"] != other.truth["parameters"]


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(300)
def test_a_longer_session_under_heavy_load(bench: Bench) -> None:
    bench.fourier(8.0)
    with load(3):
        first, second = bench.run("--seed", "1"), bench.run("--seed", "1")
    assert block_channels(first) == block_channels(second)
