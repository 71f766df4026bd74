"""Signals at every moment of a command's life: exit code 3, one JSON object, no traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from heft.exit_codes import ExitCode
from heft.interruption import _ABORTED

if TYPE_CHECKING:
    Bench = Process = Any

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def test_the_exit_code_is_that_of_an_abort() -> None:
    assert _ABORTED == ExitCode.ABORTED


def listen() -> None:
    """In the child: none of them is ignored, whatever the tests were started by."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def check(process: subprocess.Popen[str], number: signal.Signals) -> None:
    out, err = process.communicate(timeout=100)
    assert process.returncode == 3, err
    assert json.loads(out)["state"] == "aborted"
    assert number.name in err
    assert "Traceback" not in err


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", ["run", "identify"])
def test_while_it_loads(number: signal.Signals, command: str) -> None:
    """A library that takes its time."""
    hold = (
        "import sys, time, heft.__main__ as m, importlib\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numpy':\n"
        "            sys.stderr.write('loading\\n'); sys.stderr.flush(); time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
        f"sys.argv = ['heft', {command!r}, '--json', 'nothing.mcap']\n"
        "sys.exit(m.program())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", hold],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "loading\n"
    process.send_signal(number)
    check(process, number)


def test_twice_while_a_command_runs() -> None:
    """The first is answered in order, and what takes too long about it is ended by the second."""
    stuck = (
        "import sys, time, heft.main as m, types, heft.__main__ as p\n"
        "def run(arguments):\n"
        "    try:\n"
        "        print('running', file=sys.stderr, flush=True); time.sleep(60)\n"
        "    finally:\n"
        "        print('tidying', file=sys.stderr, flush=True); time.sleep(60)\n"
        "def add(parser): parser.add_argument('--json', action='store_true'); parser.set_defaults(run=run)\n"
        "m.import_module = lambda name: types.SimpleNamespace(add=add)\n"
        "sys.argv = ['heft', 'identify', '--json']\n"
        "sys.exit(p.program())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", stuck],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline() == "tidying\n"
    process.send_signal(signal.SIGINT)
    check(process, signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS[:1])
def test_while_the_report_is_written(bench: Bench, number: signal.Signals) -> None:
    """The session is done and recorded: that is told, and that it was not identified."""
    arguments, out = bench.command()
    arguments.remove("--no-identify")
    held = (
        "import sys, time, heft.commands.run as r, heft.worker_process as w, heft.__main__ as p\n"
        "def wait(*a): print('reporting', file=sys.stderr, flush=True); time.sleep(60)\n"
        "def none(*a): raise OSError('no worker')\n"
        "r.identification, w.WorkerProcess._start = wait, none\n"
        f"sys.argv = ['heft', *{arguments!r}]\n"
        "sys.exit(p.program())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", held],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen,
    )
    assert process.stderr is not None
    while process.stderr.readline() not in ("reporting\n", ""):
        pass
    process.send_signal(number)
    stdout, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    facts = json.loads(stdout)
    assert facts["state"] == "done"
    assert facts["lost"] == 0
    assert facts["identification"] == {"error": f"interrupted: {number.name} received"}
    assert (out / "short.mcap").exists()
    assert "Traceback" not in err


@pytest.mark.slow
def test_twice_in_mid_session(bench: Bench, start: Callable[..., Process]) -> None:
    bench.fourier(30.0)
    process = start(speed="2")
    process.wait_for("excitation")
    for _ in range(20):
        if process.popen.poll() is None:
            os.kill(process.popen.pid, signal.SIGINT)
        time.sleep(0.05)
    run = process.finish()
    assert run.code == 3
    assert run.json["state"] == "aborted"
    assert "Traceback" not in run.err
