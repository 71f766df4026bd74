"""The page's scripts in a real browser, beside a service that says and hears whatever a test wants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, WebSocketRoute, sync_playwright

import heft.service

CHROMIUM = Path("/usr/bin/chromium")
ASSETS = Path(heft.service.__file__).parent / "assets"
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
IDLE = {"heard": False, "stopped": False, "idle": True}
STOPPED = {"heard": True, "stopped": True, "idle": False}
NOBODY = {"heard": False, "stopped": False, "idle": False}
UNCONFIRMED = "THE STOP IS NOT CONFIRMED"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM.exists(), reason="no chromium on this host")]


class FakeService:
    """Answers the page's requests from `answers`; None: a request that is never answered."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {
            "/api/status": {"state": "standing by", "job": None},
            "/api/scene": {"scene": None},
            "/api/sessions": {"sessions": ["one.yaml"]},
            "/api/catalogue": {"entries": []},
            "/api/login": {"ok": True},
        }
        #: Asked for until it is given.
        self.token = ""
        self.asked: list[str] = []
        self.by_socket: Any = None
        self._live: WebSocketRoute | None = None

    def serve(self, page: Page) -> None:
        page.route("**/*", self._answer)
        page.route_web_socket("**/live", self._connected)
        page.route_web_socket("**/stop", self._stops)

    def _answer(self, route: Route) -> None:
        path = "/" + route.request.url.split("/", 3)[3].partition("?")[0]
        file = ASSETS / ("page.html" if path == "/" else path.rpartition("/")[2])
        if not path.startswith("/api/"):
            route.fulfill(body=file.read_bytes(), content_type=KINDS[file.suffix])
            return
        self.asked.append(path)
        if path == "/api/login" and route.request.post_data_json == {"token": self.token}:
            self.token = ""
        if self.token:
            route.fulfill(status=401, body=json.dumps({"error": "no token"}), content_type="application/json")
            return
        answer = self.answers.get(path)
        if answer is not None:
            route.fulfill(body=json.dumps(answer), content_type="application/json")

    def _connected(self, live: WebSocketRoute) -> None:
        self._live = live
        live.on_message(lambda _: None)

    def _stops(self, socket: WebSocketRoute) -> None:
        def take(_: Any) -> None:
            self.asked.append("socket")
            if self.by_socket is not None:
                socket.send(json.dumps(self.by_socket))

        socket.on_message(take)

    def tell(self, **news: Any) -> None:
        assert self._live is not None
        self._live.send(json.dumps({"frame": {"q": None, "t": 0, "utc_ms": None}, **news}))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        chromium = play.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"],
        )
        yield chromium
        chromium.close()


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def page(browser: Browser, service: FakeService) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    service.serve(page)
    page.goto("http://page.test/")
    page.wait_for_function("document.getElementById('session').options.length > 0")
    yield page
    context.close()


def test_the_token_is_asked_for(browser: Browser, service: FakeService) -> None:
    """No address has it."""
    context = browser.new_context()
    page = context.new_page()
    service.serve(page)
    service.token = "0123456789abcdef"
    page.goto("http://page.test/")
    page.fill("#token", "0123456789abcdef")
    page.click("#login button")
    page.wait_for_function("document.getElementById('session')?.options.length > 0")
    assert page.locator("#login").is_hidden()
    context.close()


def waiting(seconds: float, movers: tuple[str, ...] = ("arm",)) -> dict[str, Any]:
    joint = {
        "from": 0.0,
        "lowest": -0.1,
        "highest": seconds / 100,
        "limits": [-1.0, 1.0],
        "velocity": 0.2,
        "velocity_limit": 1.0,
        "torque": None,
    }
    return {
        "legs": [{}],
        "seconds": seconds,
        "closest_approach": None,
        "joints": {"shoulder": joint},
        "movers": list(movers),
        "unreferenced": {},
    }


def status(number: int | None, pending: dict[str, Any] | None = None) -> dict[str, Any]:
    job = {"number": number, "kind": "run", "label": "one", "phase": "running", "path": False}
    return {
        "rig": "rig",
        "robot": "wam7",
        "real": True,
        "state": "run",
        "trouble": "",
        "attempts": 0,
        "job": None if number is None else job,
        "armed_s": 0,
        "waiting": pending,
        "news": [],
    }


def test_every_plan_that_waits_for_a_name_is_shown(page: Page, service: FakeService) -> None:
    """The same session a second time, too: nobody types a name beside an empty place, or the table of another."""
    table = page.locator("#arm-form table")
    service.tell(status=status(1, waiting(20.0)))
    table.wait_for()
    assert "shoulder" in table.inner_text()
    service.tell(status=status(None))
    page.wait_for_function("document.getElementById('arm-plan').childElementCount === 0")
    service.tell(status=status(2, waiting(20.0)))
    table.wait_for()
    page.evaluate(
        "document.getElementById('plan').replaceChildren()"
    )  # as the button that asks for a run does
    assert table.is_visible()
    service.tell(status=status(2, waiting(20.0, ("arm", "gripper"))))
    page.wait_for_function("document.getElementById('arm-text').textContent.includes('gripper')")
    service.answers["/api/plan"] = waiting(30.0)
    page.click("#run-form button[type=submit]")
    page.wait_for_selector("#plan table")
    assert "20.0 s in all" in page.inner_text("#arm-plan")


@pytest.mark.parametrize(
    ("by_socket", "by_request"),
    [(STOPPED, None), (None, STOPPED), (NOBODY, STOPPED), (IDLE, None)],
    ids=["socket", "request", "one says no", "nothing to stop"],
)
def test_a_stop_goes_both_ways_and_either_is_enough(
    page: Page, service: FakeService, by_socket: Any, by_request: Any
) -> None:
    service.by_socket, service.answers["/api/stop"] = by_socket, by_request
    page.click("#stop")
    page.wait_for_function("!document.getElementById('stop').hasAttribute('aria-busy')")
    assert {"socket", "/api/stop"} <= set(service.asked)
    assert UNCONFIRMED not in page.inner_text("#notice")


@pytest.mark.parametrize("answer", [None, NOBODY], ids=["silence", "nobody took it"])
def test_a_stop_that_nobody_confirms_is_said_loudly(page: Page, service: FakeService, answer: Any) -> None:
    service.by_socket = service.answers["/api/stop"] = answer
    page.keyboard.press("Escape")
    page.wait_for_function(f"document.getElementById('notice').textContent.includes('{UNCONFIRMED}')")
    assert page.locator("#notice").is_visible()
    service.by_socket = STOPPED
    page.click("#stop")
    page.wait_for_function(f"!document.getElementById('notice').textContent.includes('{UNCONFIRMED}')")


INTERVAL = {"value": 1.5, "std": 0.1, "low": 1.3, "high": 1.7, "unit": "kg", "prior_dominated": False}
RESULTS = [
    {
        "id": number,
        "kind": "result",
        "name": name,
        "at": "2026-01-01T00:00:00Z",
        "grade": "good",
        "headline": "",
        "total_mass": 20.0,
        "validation": 0.02,
        "method": "sdp",
        "report": False,
    }
    for number, name in ((2, "night2"), (1, "night1"))
]


def test_links_and_comparisons_are_tables(page: Page, service: FakeService) -> None:
    moves = [
        {"name": f"link{k}.m", "first": 1.0, "second": 2.0, "std": 0.1, "score": 10.0 * k, "moved": k > 0}
        for k in range(3)
    ]
    between = {"compared": 3, "moved": 2, "bound": 3.0, "rms_score": 5.0, "unmatched": ["joint1.quadratic"]}
    service.answers |= {
        "/api/catalogue": {"entries": RESULTS},
        "/api/catalogue/2/links": {"links": [{"name": "link1", "mass": INTERVAL, "com": [INTERVAL] * 3}]},
        "/api/compare": {
            "differences": [{**between, "parameters": moves}],
            "relative_error": [[0.01, None], [0.0312, 0.02]],
            "missing": ["two.mcap: not found"],
        },
    }
    service.tell(status=status(None), identified={"samples": 1})
    page.wait_for_selector("#known table")
    assert "1.500 (1.300 … 1.700)" in page.inner_text("#known")
    page.click("#entries button[aria-label='links of night2']")
    page.wait_for_selector("#compared table")
    assert "1500.0 (1300.0 … 1700.0)" in page.inner_text("#compared")
    for box in page.query_selector_all("#entries input"):
        box.check()
    page.click("#compare")
    page.wait_for_selector("[aria-label='torque errors']")
    told = page.inner_text("#compared")
    assert "2 of 3 base parameters moved" in told
    assert "In one of the two only: joint1.quadratic." in told
    assert "3.12 %" in told
    assert "two.mcap: not found" in told
    assert [row.inner_text().split()[0] for row in page.query_selector_all("#compared tbody tr")][:2] == [
        "link2.m",
        "link1.m",
    ]
