"""`heft serve` as users and strangers meet it: its page in a real browser, its requests, its death and its return."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import yaml
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from heft.daq.config.rig import load_rig
from heft.daq.config.shipped import CONFIGS
from heft.daq.emulation.cell import EmulatedCell
from heft.daq.recording import Recording

CHROMIUM = Path("/usr/bin/chromium")
REST = [0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0]
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(240)]


class Service:
    """A `heft serve` of its own, in a folder of its own."""

    def __init__(self, folder: Path, rig: str | Path, *more: str) -> None:
        self.folder, self.data = folder, folder / "data"
        words = [
            "serve",
            str(CONFIGS / "rigs" / rig),
            "--port",
            "0",
            "--json",
            "--out",
            str(self.data),
            *more,
        ]
        self.errors = (folder / "errors").open("ab")
        self.popen = subprocess.Popen(
            [sys.executable, "-P", "-m", "heft", *words],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line, (folder / "errors").read_text()
        self.url = json.loads(line)["url"].rstrip("/")
        self.http = httpx.Client(base_url=self.url, timeout=60.0)

    def post(self, path: str, **facts: Any) -> Any:
        answer = self.http.post(path, json=facts)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def outcome(self, number: int) -> Any:
        return self.until(lambda: self.http.get(f"/api/jobs/{number}").json()["outcome"])

    def status(self) -> Any:
        return self.http.get("/api/status").json()

    def until(self, look: Any, seconds: float = 120.0) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := look():
                return found
            time.sleep(0.1)
        pytest.fail(f"never came; {self.status()}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.popen.send_signal(how)
        code = self.popen.wait(30)
        assert self.popen.stdout is not None
        for one in (self.http, self.errors, self.popen.stdout):
            one.close()
        return code


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with tempfile.TemporaryDirectory(prefix="heft-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        running = Service(tmp_path_factory.mktemp("service"), "sim_wam7.yaml")
        yield running
        assert running.end() == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip("no chromium on this host")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield chromium
        chromium.close()


def opened(browser: Any, service: Service, width: int = 1280, scheme: str = "light") -> tuple[Any, set[str]]:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    page.goto(service.url)
    page.wait_for_selector("#streams tr")
    return page, hosts


def shows(page: Any, what: str, seconds: float = 60.0) -> None:
    """Return when this is so on the page; its policy forbids that a script looks for it there."""
    end = time.monotonic() + seconds
    while not page.evaluate(what):
        assert time.monotonic() < end, what
        page.wait_for_timeout(100)


def test_strangers_are_refused_and_nothing_moves(service: Service) -> None:
    own = {"content-type": "application/json"}
    for headers, status in (
        ({"origin": "http://evil.example"}, 403),
        ({"host": "evil.example"}, 421),
        ({"content-type": "text/plain"}, 415),
    ):
        answer = service.http.post("/api/run", content=b"{}", headers={**own, **headers})
        assert answer.status_code == status
        assert answer.json()["error"]
    for path in ("/assets/../owner.py", "/assets/%2e%2e/owner.py", "/api/catalogue/..%2f..%2fetc/file"):
        assert service.http.get(path).status_code == 404
    for name in ("../../etc/passwd", "/etc/passwd", "wam7_excitation.yaml/../x"):
        answer = service.http.post("/api/run", json={"session": name})
        assert answer.status_code == 400
        assert "not among the sessions" in answer.json()["error"]
    answer = service.http.post("/api/import", params={"name": "../x.csv"}, content=b"1,2")
    assert "not a file name" in answer.json()["error"]
    said = _gigabyte(service.url)
    assert " 413 " in said
    assert "a body of 1073741824 bytes" in said
    with pytest.raises(InvalidStatus) as refused:
        connect(f"{service.url.replace('http', 'ws')}/stop", origin="http://evil.example")  # type: ignore[arg-type]
    assert b"origin 'http://evil.example'" in refused.value.response.body
    assert service.status()["job"] is None
    log = Path(os.environ["XDG_STATE_HOME"], "heft", "heft.log").read_text()
    assert "refused http /api/run" in log
    assert "evil.example" in log


def test_a_session_by_the_command_line_finds_the_service(service: Service, tmp_path: Path) -> None:
    words = [
        "run",
        str(CONFIGS / "sessions" / "wam7_excitation.yaml"),
        "--speed",
        "max",
        "--no-identify",
        "--json",
    ]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "heft", *words],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert f"by the service of this rig: {service.url}" in done.stderr
    told = json.loads(done.stdout)
    assert (told["state"], told["lost"]) == ("done", 0)
    assert Recording.open(told["file"]).complete
    assert list(tmp_path.iterdir()) == []
    entries = service.http.get("/api/catalogue").json()["entries"]
    assert [(one["kind"], one["state"]) for one in entries] == [("recording", "done")]
    shown = subprocess.run(
        [sys.executable, "-P", "-m", "heft", "status"], capture_output=True, text=True, timeout=60
    )
    assert "standing by" in shown.stdout
    assert service.url in shown.stdout


def test_the_page_shows_a_session_and_what_it_tells_and_stops_it(service: Service, browser: Any) -> None:
    page, hosts = opened(browser, service)
    number = service.post("/api/run", session="wam7_excitation.yaml", speed=0.9)["number"]
    shows(page, "heft.state.progress?.state === 'moving' && heft.state.progress.seconds_done > 3")
    shows(page, "heft.arm.path !== null")
    before = page.evaluate("[heft.arm.drawn, heft.plot.drawn, heft.arm.q[0]]")
    page.wait_for_timeout(1500)
    after = page.evaluate("[heft.arm.drawn, heft.plot.drawn, heft.arm.q[0]]")
    assert after[0] > before[0]
    assert after[1] > before[1]
    assert after[2] != before[2]
    assert page.evaluate("heft.arm.path.points.length") > 100
    # Intervals of what is identified, relative to the first: they shrink as the motion goes on.
    widths = "[...document.querySelectorAll('#known .bar i')].map((bar) => parseFloat(bar.style.width))"
    shows(page, f"{widths}.length > 30")
    assert "of 69 base parameters" in page.inner_text("#known .rank")
    shows(page, f"{widths}.filter((width) => width < 80).length > 25")
    page.click("#stop")
    outcome = service.outcome(number)
    assert (outcome["state"], outcome["reason"]) == ("aborted", "stopped on the page")
    events = {e.name: e.t_ns for e in Recording.open(outcome["file"]).events}
    assert (events["drives_off"] - events["stop_requested"]) * 1e-9 < 0.5  # of the session's own time
    assert hosts == {service.url.partition("//")[2]}
    page.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark"), (1920, "light")])
def test_keyboards_screen_readers_and_small_screens(
    service: Service, browser: Any, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page, _ = opened(browser, service, width, scheme)
    found = Axe().run(page).response["violations"]
    serious = [
        f"{one['id']}: {one['nodes'][0]['html'][:150]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.context.close()


def test_a_pick_up_shows_its_mass(service: Service, browser: Any) -> None:
    page, _ = opened(browser, service)
    number = service.post("/api/payload", session="pick_and_weigh.yaml", speed=0.9)["number"]
    page.wait_for_selector("#hand .mass", timeout=150_000)
    shows(page, "heft.state.payloads.at(-1)?.recognition?.name === 'water_bottle'")
    mass = float(page.get_attribute("#hand .mass", "data-mass"))
    assert mass == pytest.approx(0.53, abs=0.02)
    page.keyboard.press("Escape")
    assert service.outcome(number)["state"] == "aborted"
    page.context.close()


def test_without_the_token_nobody_is_let_in(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n", encoding="utf-8")
    token.chmod(0o600)
    with tempfile.TemporaryDirectory(prefix="heft-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        service = Service(tmp_path, "sim_wam7.yaml", "--token", str(token))
        for headers in ({}, {"authorization": "Bearer 0123456789abcdeF"}, {"cookie": "heft_token=x"}):
            for method, path in (("GET", "/api/status"), ("POST", "/api/run"), ("POST", "/api/stop")):
                answer = service.http.request(
                    method, path, headers={**headers, "content-type": "application/json"}, content=b"{}"
                )
                assert answer.status_code == 401
                assert "no token, or a wrong one" in answer.json()["error"]
            for path in ("/stop", "/live"):
                with pytest.raises(InvalidStatus) as refused:
                    connect(f"{service.url.replace('http', 'ws')}{path}", additional_headers=headers)
                assert refused.value.response.status_code == 401
                assert b"no token, or a wrong one" in refused.value.response.body
        service.http.headers["authorization"] = "Bearer 0123456789abcdef"
        assert service.status()["job"] is None
        assert service.end() == 0
    log = (tmp_path / "state/heft/heft.log").read_text(encoding="utf-8")
    assert log.count("no token, or a wrong one") == 15


def test_killed_in_mid_session_and_started_again(tmp_path: Path) -> None:
    """The devices are another process, which outlives the service: their watchdog is all that stops the arm."""
    rig: dict[str, Any] = yaml.safe_load((CONFIGS / "rigs/emulated_wam7.yaml").read_text(encoding="utf-8"))
    rig["robot"] = str(CONFIGS / "robots/wam7.yaml")
    for part in (rig["devices"], rig["emulation"]["devices"]):
        part.pop("gripper", None)
    rig.pop("mqtt")
    rig["simulation"]["step_s"] = 0.004
    rig["devices"]["arm"] |= {"rate_hz": 100, "timeout_s": 0.5}
    rig["emulation"]["devices"]["arm"]["servo_hz"] = 250
    (tmp_path / "cell.yaml").write_text(yaml.safe_dump(rig), encoding="utf-8")
    watch = {"stream_age_s": 1.0, "tracking_error": 0.4, "velocity_margin": 2.0}
    there, back = ({"to": to, "fraction": 0.1} for to in ([0.5, -0.9, 0.4, 1.4, -1.4, 0.4, 0.4], REST))
    steps = [{"name": "there", "move": there}, {"name": "back", "move": back}]
    session = {"name": "short", "rig": "../rig.yaml", "rate_hz": 200, "watch": watch, "steps": steps}
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions/short.yaml").write_text(yaml.safe_dump(session), encoding="utf-8")
    log = tmp_path / "plant.npz"

    async def kill_and_go_on() -> tuple[int, float, list[dict[str, Any]], dict[str, Any]]:
        async with EmulatedCell(load_rig(tmp_path / "cell.yaml"), 0) as cell:
            for name, where in cell.endpoints.items():
                rig["devices"][name] |= where
            real = {key: rig[key] for key in ("name", "robot", "cell", "devices")}
            (tmp_path / "rig.yaml").write_text(yaml.safe_dump(real), encoding="utf-8")
            killed_ns, seconds = await asyncio.to_thread(_killed_in_motion, tmp_path)
            await asyncio.sleep(3.0)
            await cell.log(log)
            return killed_ns, seconds, *await asyncio.to_thread(_started_again, tmp_path)

    with tempfile.TemporaryDirectory(prefix="heft-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        with ThreadPoolExecutor(1) as elsewhere:  # the browser's own loop runs in this thread
            killed_ns, seconds, entries, outcome = elsewhere.submit(asyncio.run, kill_and_go_on()).result()
    plant = np.load(log)
    speed = np.abs(plant["v"]).max(axis=1)
    assert speed[plant["t_ns"] < killed_ns][-100:].max() > 0.1  # [rad/s]
    # The watchdog is of 0.5 s; then a ramp, and a host that others keep busy.
    assert speed[plant["t_ns"] > killed_ns + 1_500_000_000].max() < 0.01
    assert outcome["state"] == "done", outcome["reason"]
    assert [one["state"] for one in entries] == ["done", "cut off"]  # the newest first
    assert entries[1]["seconds"] > seconds - 1.0


def _killed_in_motion(folder: Path) -> tuple[int, float]:
    """A session of the rig in this folder, whose service is killed: when [ns], and what was recorded before [s]."""
    service = Service(folder, folder / "rig.yaml", "--sessions", str(folder / "sessions"))
    assert service.status()["real"]
    service.post("/api/run", session="short.yaml", identify=False, unrehearsed=True)
    service.until(lambda: service.status()["waiting"])  # nothing moves before a name is typed
    service.post("/api/arm", name="wam7")
    service.until(lambda: _recorded(service.data) > 4.0)
    seconds = _recorded(service.data)
    service.popen.kill()
    killed_ns = time.monotonic_ns()
    service.end(signal.SIGKILL)
    return killed_ns, seconds


def _started_again(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What the catalogue then has, and the outcome of the next session."""
    service = Service(folder, folder / "rig.yaml", "--sessions", str(folder / "sessions"))
    assert len(service.http.get("/api/catalogue").json()["entries"]) == 1
    assert not list(service.data.glob("*/*.partial"))
    assert service.status()["armed_s"] == 0
    service.post("/api/arm", name="wam7")
    number = service.post("/api/run", session="short.yaml", identify=False, unrehearsed=True)["number"]
    outcome = service.outcome(number)
    entries = service.http.get("/api/catalogue").json()["entries"]
    assert service.end() == 0
    return entries, outcome


def _gigabyte(url: str) -> str:
    """What the service says to a body of 1 GB, of which it is sent the beginning."""
    host, _, port = url.partition("//")[2].partition(":")
    head = f"POST /api/run HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        sock.sendall(f"{head}Content-Length: {1 << 30}\r\n\r\n".encode() + bytes(1000))
        said = b""
        while b"}" not in said and (more := sock.recv(4096)):
            said += more
    return said.decode()


def _recorded(data: Path) -> float:
    """Of the session that is being recorded [s]."""
    for partial in data.glob("*/*.mcap.partial"):
        try:
            return Recording.open(partial).duration_s
        except Exception:  # nothing has been flushed yet
            return 0.0
    return 0.0
