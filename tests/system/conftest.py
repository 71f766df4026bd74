"""A workbench: short sessions on the simulated WAM, run through the real command line."""

from __future__ import annotations

import io
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import yaml

from heft.daq.config.session import load_session
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import RecordingError
from heft.daq.motion.plan import make_plan
from heft.daq.recording import Event, Recording
from heft.main import main

#: The simulated brakes stop a moving arm within 50 ms; samples arrive up to 10 ms later.
BRAKE_NS = 60_000_000
#: One and a half counts of a joint encoder [rad].
COUNT = 1.5 * 2 * np.pi / 2**19
#: A second or so of motion that begins where the arm stands.
SWAY = [{"name": "sway", "use": "identification", "move": {"to": [0.3, -0.3, 0.2, 1.6, -1.6, 0.2, 0.2]}}]


@dataclass(frozen=True)
class Run:
    """What the user has after `heft run`: an exit code, what was printed, and the files."""

    code: int
    out: str
    err: str
    folder: Path
    name: str

    @property
    def json(self) -> Any:
        """The object on standard output, which must be strict JSON (no NaN)."""
        return json.loads(self.out, parse_constant=_not_json)

    @property
    def recording(self) -> Recording:
        return Recording.open(self.folder / f"{self.name}.mcap")

    @property
    def truth(self) -> Any:
        return json.loads((self.folder / f"{self.name}.truth.json").read_text(encoding="utf-8"))

    @property
    def states(self) -> list[str]:
        """The states that the session went through, from its recording."""
        return [event.facts["state"] for event in self.recording.events if event.name == "state"]

    def event(self, name: str, **facts: Any) -> Event:
        """The one event of this name with these facts."""
        (found,) = [e for e in self.recording.events if e.name == name and facts.items() <= e.facts.items()]
        return found

    def check_off(self, held: bool = True) -> None:
        """The drives are off, and when the brakes have done their work nothing moves: as encoders or drives saw it."""
        events = [e for e in self.recording.events if e.name in ("hold", "drives_off", "sensor_off")]
        assert [e.name for e in events] == [*["hold"] * held, "drives_off", *["sensor_off"] * 4]
        witnesses = 0
        for stream in ("encoders.position", "arm.motion"):
            columns = self.recording.columns(stream)
            still = columns.quantity("position")[columns.host_ns > events[held].t_ns + BRAKE_NS]
            if len(still) >= 20 and not np.isnan(still).any():
                assert np.ptp(still, axis=0).max() < COUNT
                witnesses += 1
        assert witnesses

    @property
    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()


def _not_json(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


class Bench:
    """Writes a robot, a rig and a session into one folder, lets a test change them, and runs `heft run` on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.robot: dict[str, Any] = _read("robots/wam7.yaml")
        self.rig: dict[str, Any] = _read("rigs/sim_wam7.yaml") | {"robot": "robot.yaml"}
        self.session: dict[str, Any] = {"name": "short", "rig": "rig.yaml", "steps": deepcopy(SWAY)}
        (folder / "wam7.xml").write_bytes((CONFIGS / "robots/wam7.xml").read_bytes())
        self._runs = 0

    def fourier(self, seconds: float) -> None:
        """Instead of the short move: a Fourier series of this length. The arm stands at its beginning."""
        series = {"seconds": seconds, "period_s": 4.0, "blend_s": 0.5, "harmonics": 2, "seed": 3}
        self.session["steps"] = [{"name": "excitation", "use": "identification", "fourier": series}]
        (leg,) = make_plan(load_session(self.write()))
        assert leg.trajectory is not None
        self.rig["simulation"]["posture"] = leg.trajectory.start.position[0].tolist()

    def faults(self, *faults: dict[str, Any]) -> None:
        """Faults on command, as a user writes them into the rig's file."""
        self.rig["simulation"]["faults"] = list(faults)

    def write(self) -> Path:
        """Write the three files; the session's path."""
        for name in ("robot", "rig", "session"):
            text = yaml.safe_dump(getattr(self, name), sort_keys=False)
            (self.folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        return self.folder / "session.yaml"

    def command(self, *more: str, speed: str = "max", json: bool = True) -> tuple[list[str], Path]:
        """Arguments of `heft` and the folder that it will write into."""
        self._runs += 1
        out = self.folder / f"out{self._runs}"
        arguments = ["run", str(self.write()), "--out", str(out), "--speed", speed, "--no-identify", *more]
        return [*arguments, "--json"] if json else arguments, out

    def run(self, *more: str, **options: Any) -> Run:
        """`heft run` to its end, in this process."""
        arguments, out = self.command(*more, **options)
        return self.run_arguments(arguments, out)

    def run_arguments(self, arguments: list[str], out: Path) -> Run:
        """`heft` with these arguments, which write into `out`."""
        stdout, stderr = io.StringIO(), io.StringIO()
        with redirect_stdout(stdout), redirect_stderr(stderr):
            code = main(arguments)
        return Run(code, stdout.getvalue(), stderr.getvalue(), out, self.session["name"])

    def start(self, *more: str, **options: Any) -> Process:
        """`heft run` as a process of its own."""
        arguments, out = self.command(*more, **options)
        return Process([sys.executable, "-m", "heft.main", *arguments], out, self.session["name"])


class Process:
    """A running `heft run`. Never left behind: the fixture ends what a test did not."""

    def __init__(self, command: list[str], folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.popen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._seen = ""

    def wait_for(self, text: str) -> None:
        """Return when a line with this text has been printed on standard error."""
        assert self.popen.stderr is not None
        for line in self.popen.stderr:
            self._seen += line
            if text in line:
                return
        pytest.fail(f"{text!r} never came; standard error was:\n{self._seen}")

    def wait_until_recorded(self, seconds: float) -> None:
        """Return when the file shows that the segment has gone on for so long, in the session's own time."""
        partial = self.folder / f"{self.name}.mcap.partial"
        while self.popen.poll() is None:
            with suppress(RecordingError):  # nothing has been flushed yet
                segments = Recording.open(partial).segments
                if segments and segments[0].end_ns - segments[0].start_ns > seconds * 1e9:
                    return
            time.sleep(0.05)
        pytest.fail(f"the session ended before its time:\n{self.finish().err}")

    def finish(self) -> Run:
        out, err = self.popen.communicate(timeout=60)
        return Run(self.popen.returncode, out, self._seen + err, self.folder, self.name)


@pytest.fixture(scope="session")
def new_bench() -> Callable[[Path], Bench]:
    """For fixtures that live longer than a test."""
    return Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def start(bench: Bench) -> Iterator[Callable[..., Process]]:
    """`bench.start`, with an end to every process that the test started; none of them knows of a `nohup` around."""
    processes: list[Process] = []
    hang_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)

    def begin(*more: str, **options: Any) -> Process:
        processes.append(bench.start(*more, **options))
        return processes[-1]

    yield begin
    signal.signal(signal.SIGHUP, hang_up)
    for process in processes:
        if process.popen.poll() is None:
            process.popen.kill()
        process.popen.communicate()


def _read(path: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((CONFIGS / path).read_text(encoding="utf-8"))
    return data


@pytest.fixture(scope="session")
def visit(missing: Callable[[str], NoReturn]) -> Callable[..., tuple[str, list[str]]]:
    """A headless Chromium that opens a page: what it prints (the page as it has become), and its console's lines."""
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next((found for name in names if (found := shutil.which(name))), None)
    if browser is None:
        missing("no Chromium to open pages with: apt-get install chromium")

    def opened(page: Path, home: Path, *options: str) -> tuple[str, list[str]]:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
        command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        command += [f"--user-data-dir={home}", "--enable-logging=stderr", "--virtual-time-budget=10000"]
        done = subprocess.run([*command, *options, page.as_uri()], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return opened
