"""The service with pages open: what it loses, what it costs, how late its picture is, and whether it grows.

`heft serve` is started as a user starts it, on the simulated WAM at 1 kHz (seven joints: position, velocity, current,
setpoints, encoders; a force/torque sensor). Four pages are open: two that keep up, one whose socket is not read any
more, one that is killed. The simulated plant runs in the owner's process; what its steps cost is measured by itself in
another process, and taken off.

    python benchmarks/service.py [--minutes 1] [--sessions 0]      exit code 1 if a bound is broken

`--minutes 30` is the measurement of memory, `--sessions 200` runs that many sessions in a row and counts descriptors
and processes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil

from heft.daq.config.shipped import CONFIGS

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
CPU_BOUND, LATENCY_BOUND_MS, GROWTH_BOUND = 0.6, 100.0, 0.05
RIG = CONFIGS / "rigs" / "sim_wam7.yaml"


def ask(url: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """An answer of the service."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.loads(answer.read())


def wait(url: str, number: int) -> Any:
    """The outcome of a job."""
    while (outcome := ask(url, f"/api/jobs/{number}")["outcome"]) is None:
        time.sleep(0.2)
    return outcome


class Cost:
    """Processor time and memory of a process and of its page's process."""

    def __init__(self, pid: int) -> None:
        self.owner = psutil.Process(pid)
        (self.page,) = [p for p in self.owner.children() if "heft.service.web" in p.cmdline()]

    def seconds(self) -> tuple[float, float]:
        return tuple(sum(p.cpu_times()[:2]) for p in (self.owner, self.page))  # type: ignore[return-value]

    def memory(self) -> tuple[int, int]:
        return self.owner.memory_info().rss, self.page.memory_info().rss

    def descriptors(self) -> tuple[int, int, int]:
        return self.owner.num_fds(), self.page.num_fds(), len(self.owner.children(recursive=True))


def browsers_seconds() -> float:
    """Processor time of the browsers so far [s]: they share the machine with what is measured."""
    spent = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            if "chrom" in process.name():
                spent += sum(process.cpu_times()[:2])
        except psutil.NoSuchProcess:
            pass
    return spent


def host_seconds() -> float:
    """Processor time of everything on this host so far [s]."""
    spent = psutil.cpu_times()
    return float(sum(spent[:8]) - spent.idle - getattr(spent, "iowait", 0.0))


def plant_share(seconds: float) -> float:
    """Processor time per second of the plant alone: the simulated world stepped as its drivers step it."""
    code = "\n".join(
        (
            "import time",
            "from heft.daq.clock import SimulatedClock",
            "from heft.daq.config.rig import load_rig",
            "from heft.daq.rig import Rig",
            f"world = Rig(load_rig({str(RIG)!r}), SimulatedClock(), 0, name='plant').world",
            "begin = time.process_time()",
            f"world.advance(int({seconds} * 1e9) + 1_000_000_000)",
            f"print((time.process_time() - begin) / {seconds})",
        )
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else float("nan")


def stalled_page(url: str) -> socket.socket:
    """A websocket that asks for plots and is never read."""
    host, _, port = url.partition("//")[2].partition(":")
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.sendall(
        f"GET /live HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    return sock


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--sessions", type=int, default=0)
    arguments = parser.parse_args()
    from playwright.sync_api import sync_playwright

    lines: list[tuple[str, str, bool | None]] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runtime = stack.enter_context(tempfile.TemporaryDirectory(prefix="heft-"))
        os.environ["XDG_RUNTIME_DIR"] = runtime
        words = ["serve", str(RIG), "--port", "0", "--json", "--out", str(folder)]
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "heft", *words], stdout=subprocess.PIPE, text=True
        )
        stack.callback(process.wait)
        stack.callback(process.send_signal, signal.SIGTERM)
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"].rstrip("/")
        cost = Cost(process.pid)
        play = stack.enter_context(sync_playwright())
        pages = [play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS.split()) for _ in range(3)]
        opened = [browser.new_page() for browser in pages]
        loads = []
        for page in opened:
            page.goto(url)
            page.wait_for_selector("#streams tr")
            loads.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
        stack.callback(stalled_page(url).close)
        number = ask(url, "/api/run", {"session": "wam7_excitation.yaml", "identify": False})["number"]
        begin, before, drawing = time.monotonic(), cost.seconds(), browsers_seconds()
        everything = host_seconds()
        time.sleep(10)
        pages[2].close()  # killed while it is sent to
        outcome = wait(url, number)
        wall = time.monotonic() - begin
        used = [(after - was) / wall for after, was in zip(cost.seconds(), before, strict=True)]
        drawing = (browsers_seconds() - drawing) / wall
        others = (host_seconds() - everything) / wall - drawing - sum(used)
        delays = sorted(opened[0].evaluate("heft.delays"))
        plant = plant_share(20)
        total = sum(used) - plant
        lines.append(("session", f"{outcome['state']} {outcome['reason']}", outcome["state"] == "done"))
        lines.append(("lost", str(outcome["lost"]), outcome["lost"] == 0))
        lines.append(("page loaded", f"{max(loads):.0f} ms", max(loads) < 1000))
        lines.append(("owner, of a core", f"{used[0]:.2f}", None))
        lines.append(("of it the plant", f"{plant:.2f}", None))
        lines.append(("page's process, of a core", f"{used[1]:.2f}", None))
        lines.append(("service without plant", f"{total:.2f} (bound {CPU_BOUND})", total < CPU_BOUND))
        lines.append(("browsers that draw, of a core", f"{drawing:.2f}", None))
        lines.append(("others on this host, of a core", f"{others:.2f}", None))
        if delays:
            p95 = delays[int(0.95 * len(delays))]
            bound = f"(bound {LATENCY_BOUND_MS:g} ms; median {delays[len(delays) // 2]:.0f})"
            lines.append(("sample to picture, p95", f"{p95:.0f} ms {bound}", p95 < LATENCY_BOUND_MS))
        for browser in pages[:2]:
            browser.close()
        early = cost.memory()
        time.sleep(60 * arguments.minutes)
        late = cost.memory()
        growth = max(b / a - 1 for a, b in zip(early, late, strict=True))
        told = f"{growth:+.1%} in {arguments.minutes:g} min: {late[0] >> 20} and {late[1] >> 20} MB"
        lines.append(("memory", told, growth < GROWTH_BOUND))
        if arguments.sessions:
            lines += in_a_row(url, cost, arguments.sessions)
    for name, value, ok in lines:
        print(f"{name:<31} {value:<50} {'' if ok is None else 'ok' if ok else 'BROKEN'}")
    return 0 if all(ok is not False for _, _, ok in lines) else 1


def in_a_row(url: str, cost: Cost, count: int) -> list[tuple[str, str, bool | None]]:
    """Sessions one after the other, as fast as they go."""
    states = set()
    for k in range(count):
        body = {"session": "wam7_excitation.yaml", "identify": False, "speed": "max"}
        states.add(wait(url, ask(url, "/api/run", body)["number"])["state"])
        if k == min(4, count - 1):
            early, files = cost.memory(), cost.descriptors()
    late, end = cost.memory(), cost.descriptors()
    grown = max(b / a - 1 for a, b in zip(early, late, strict=True))
    same = all(b <= a + 4 for a, b in zip(files, end, strict=True))
    return [
        (f"{count} sessions", ", ".join(states), states == {"done"}),
        ("memory over them", f"{grown:+.1%}", grown < 0.1),
        ("descriptors, processes", f"{files} then {end}", same),
    ]


if __name__ == "__main__":
    sys.exit(main())
