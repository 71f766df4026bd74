"""Programs in a session and folders of their own, and what they leave behind."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fault_campaign.plant_log import PlantLog
from heft.daq.bus.runtime import running_sessions
from heft.main import main

__all__ = ["HANG_S", "Child", "environment", "start"]

HANG_S = 60.0  # a program that has not ended by then hangs
_MARK = "HEFT_TRIAL"
_LEAVE_S = 12.0  # in which what a killed program has started ends by itself


@dataclass
class Child:
    """`heft` with some arguments, in a process of its own."""

    pid: int
    folder: Path
    number: int
    code: int | None = None

    @property
    def out(self) -> str:
        return (self.folder / f"{self.number}.out").read_text(encoding="utf-8", errors="replace")

    @property
    def err(self) -> str:
        return (self.folder / f"{self.number}.err").read_text(encoding="utf-8", errors="replace")

    @property
    def plant_file(self) -> Path:
        return self.folder / f"{self.number}.npz"

    def signal(self, number: int) -> int:
        """Send a signal; the host time at which it was sent [ns]."""
        now = time.monotonic_ns()
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
        return now

    def ended(self) -> bool:
        """Whether it has ended; `code` is set then."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait_for(self, text: str, seconds: float = HANG_S) -> bool:
        """Wait until it has said this on standard error; False where it ended first, or did not."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if text in self.err:
                return True
            if self.ended():
                return text in self.err
            time.sleep(0.01)
        return False

    def finish(self, seconds: float = HANG_S) -> int:
        """Wait for its end and return the exit code; `TimeoutError` where it hangs (it is killed then)."""
        until = time.monotonic() + seconds
        while not self.ended():
            if time.monotonic() > until:
                self.kill()
                raise TimeoutError(f"still running after {seconds:g} s")
            time.sleep(0.005)
        assert self.code is not None
        return self.code

    def kill(self) -> None:
        """Whatever state it is in."""
        for number in (signal.SIGCONT, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
        while not self.ended():
            time.sleep(0.005)


def environment(folder: Path) -> dict[str, str]:
    """Folders of its own for everything that a program may keep somewhere."""
    names = {
        "XDG_RUNTIME_DIR": "run",
        "TMPDIR": "tmp",
        "HOME": "home",
        "XDG_CONFIG_HOME": "home/config",
        "XDG_STATE_HOME": "home/state",
        "XDG_CACHE_HOME": "home/cache",
    }
    for name in names.values():
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    return {key: str(folder / name) for key, name in names.items()} | {_MARK: str(folder)}


def start(
    folder: Path,
    *arguments: str,
    before: Callable[[], None] | None = None,
    program: Callable[[list[str]], int] = main,
    more: Mapping[str, str] | None = None,
    faults: Sequence[Mapping[str, Any]] = (),
    after_s: float = 0.0,
) -> Child:
    """`heft ARGUMENTS` in a child of this process, which has loaded its libraries already.

    `before` is called in the child first (limits, priorities); `more` is added to its environment. Where the child has
    a plant in it, what the arm really did is written, and `faults` happen `after_s` [s] after it has begun to move.
    """
    number = len(list(folder.glob("*.err")))
    child = Child(0, folder, number)
    flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
    files = [os.open(folder / f"{number}.{name}", flags, 0o600) for name in ("out", "err")]
    sys.stdout.flush()
    sys.stderr.flush()
    child.pid = os.fork()
    if child.pid:
        for file in files:
            os.close(file)
        return child
    code = 70
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(files[0], 1)
        os.dup2(files[1], 2)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
        os.environ.update(environment(folder) | dict(more or {}))
        tempfile.tempdir = None
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, signal.default_int_handler if signum == signal.SIGINT else signal.SIG_DFL)
        os.chdir(folder)
        with PlantLog(child.plant_file, faults, after_s):
            if before is not None:
                before()
            code = program(list(arguments))
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else 2
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def leftovers(
    folder: Path, out: Path | None = None, *, killed: bool = False, unfinished: bool = False
) -> tuple[str, ...]:
    """What programs of this folder left behind: processes, sockets, temporary files; out's own files must be whole."""
    until = time.monotonic() + (_LEAVE_S if killed else 3.0)
    while (processes := _processes(folder)) and time.monotonic() < until:
        time.sleep(0.05)
    found = [f"process {process}" for process in processes]
    for pid in _pids(folder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if killed:
        os.environ["XDG_RUNTIME_DIR"], before = str(folder / "run"), os.environ.get("XDG_RUNTIME_DIR")
        running_sessions()  # whoever looks next removes what a killed one has left
        os.environ.pop("XDG_RUNTIME_DIR") if before is None else os.environ.update(XDG_RUNTIME_DIR=before)
    for place in ("run", "tmp"):
        found += [
            f"{place}/{path.relative_to(folder / place)}"
            for path in (folder / place).rglob("*")
            if not path.is_dir()
        ]
    if out is not None and out.is_dir():
        odd = [
            path for path in out.rglob("*") if path.is_file() and path.suffix in (".tmp", ".part", ".lock")
        ]
        if not (killed or unfinished):
            odd += list(out.glob("*.partial"))
        found += [f"out/{path.relative_to(out)}" for path in odd]
    return tuple(found)


def _pids(folder: Path) -> list[int]:
    mark, own = f"{_MARK}={folder}".encode(), os.getpid()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(path.name) != own and mark in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
    return found


def _processes(folder: Path) -> list[str]:
    """Number and command of each that lives."""
    told = []
    for pid in _pids(folder):
        with suppress(OSError):
            process = Path("/proc") / str(pid)
            state = process.joinpath("stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
            command = process.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            told += [f"{pid} {command[-60:]}"] if state != "Z" else []
    return told
