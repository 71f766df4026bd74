"""The folder of a run: its own, and nothing else of the user's is touched; what becomes of it meanwhile is told."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heft.main import main
from heft.output_folder import WORKSPACE_PREFIX, OutputFolder

if TYPE_CHECKING:
    Bench = Process = Any


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.slow
def test_the_folder_of_a_worker_is_left_alone(bench: Bench) -> None:
    """`DIR/worker` is where `heft worker` keeps its recordings when it is started in DIR."""
    arguments, out = bench.command()
    arguments.remove("--no-identify")
    (out / "worker").mkdir(parents=True)
    (out / "worker" / "precious").write_text("mine", encoding="utf-8")
    run = bench.run_arguments(arguments, out)
    assert run.code in (0, 1), run.err
    assert (out / "worker" / "precious").read_text(encoding="utf-8") == "mine"
    assert not list(out.glob(f"{WORKSPACE_PREFIX}*"))


@pytest.mark.parametrize("name", ["short.mcap", "short.mcap.partial", "result.json", "report.html"])
def test_a_refused_run_touches_nothing(bench: Bench, name: str) -> None:
    arguments, out = bench.command()
    arguments.remove("--no-identify")
    (out / "worker").mkdir(parents=True)
    (out / "worker" / "precious").write_text("mine", encoding="utf-8")
    (out / name).write_text("of an earlier run", encoding="utf-8")
    before = contents(out)
    run = bench.run_arguments(arguments, out)
    assert run.code == 2
    assert f"{name} exists; move it away, or give another folder" in run.err
    assert contents(out) == before


def test_a_run_that_is_refused_later_leaves_no_folder(bench: Bench) -> None:
    bench.rig["bus"] = {"telemetry": "tcp://192.0.2.1:5570"}  # not an address of this machine
    run = bench.run()
    assert run.code in (2, 4), run.err
    assert not run.folder.exists()


@pytest.mark.slow
def test_a_second_run_is_refused_and_does_not_rob_the_first(
    bench: Bench, start: Callable[..., Process]
) -> None:
    process = start(speed="1")
    process.wait_for("sway")
    arguments, _ = bench.command()
    arguments[arguments.index("--out") + 1] = str(process.folder)
    second = bench.run_arguments([*arguments, "--seed", "1"], process.folder)
    assert second.code == 2
    first = process.finish()
    assert first.code == 0, first.err
    assert first.json["state"] == "done"


def test_the_lock_is_on_the_folder_and_gone_with_it(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "a" / "b", ()) as folder:
        assert folder.path.is_dir()
        with (
            pytest.raises(Exception, match="another program is writing into it"),
            OutputFolder(folder.path, ()),
        ):
            pass
    assert list(tmp_path.iterdir()) == []  # nothing was written: nothing is left


def test_two_runs_that_begin_in_the_same_second_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = (OutputFolder.given_or_new(None, "short", ["short.mcap"]) for _ in range(2))
    second.path = first.path
    with first, second:
        assert first.path.parent == second.path.parent == Path("sessions")
        assert second.path.name == f"{first.path.name}-2"
        (second.path / "short.mcap").touch()
    assert [path.name for path in Path("sessions").iterdir()] == [second.path.name]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_a_folder_that_vanishes_in_mid_session_is_told(
    bench: Bench, start: Callable[..., Process], how: str
) -> None:
    bench.fourier(30.0)
    bench.session["watch"] = {"stream_age_s": 2.0}  # a busy machine must not stop it first
    process = start(speed="1")
    process.wait_for("excitation")
    process.wait_until_recorded(0.3)
    if how == "deleted":
        shutil.rmtree(process.folder)
    else:
        process.folder.rename(bench.folder / "elsewhere")
    run = process.finish()
    assert run.code == 4
    assert run.json["state"] == "failed"
    assert f"was {how}" in run.json["reason"]
    received = sum(stream["received"] for stream in run.json["streams"].values())
    if how == "deleted":
        assert run.json["lost"] == received > 0
        assert run.json["file"] is None
    assert "Traceback" not in run.err


def test_a_worker_whose_acquisition_died_before_they_met_ends(tmp_path: Path) -> None:
    parent = (
        "import os, sys; from pathlib import Path; from heft.daq.bus.endpoint import Endpoint;"
        "from heft.output_folder import OutputFolder; from heft.worker_process import WorkerProcess\n"
        "with OutputFolder(Path(sys.argv[1]), ()) as out:\n"
        "  with WorkerProcess(Endpoint.parse(sys.argv[2]), out) as worker:\n"
        "    print(worker._popen.pid, flush=True); os.kill(os.getpid(), 9)\n"
    )
    address = f"ipc://{tmp_path}/nobody"
    done = subprocess.run(
        [sys.executable, "-c", parent, str(tmp_path / "out"), address], capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    pid = int(done.stdout)
    for _ in range(600):
        if not _alive(pid):
            break
        time.sleep(0.1)
    else:
        os.kill(pid, signal.SIGKILL)
        pytest.fail("the worker waits for ever")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_replay_leaves_a_folder_alone(bench: Bench) -> None:
    run = bench.run()
    out = bench.folder / "again"
    (out / "worker").mkdir(parents=True)
    (out / "worker" / "precious").write_text("mine", encoding="utf-8")
    main(["replay", str(run.folder / "short.mcap"), "--speed", "max", "--identify", "--out", str(out)])
    assert (out / "worker" / "precious").read_text(encoding="utf-8") == "mine"
