"""Requests of the page: what is strange is refused in words, and what is refused leaves nothing behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from heft.exit_codes import ExitCode
from heft.service.catalogue import Catalogue
from heft.service.client import RefusedRequest
from heft.service.web import app as module
from heft.service.web.app import Application
from heft.service.web_process import Showing


class Owner:
    """Takes what is asked for, or refuses it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.busy = False

    async def ask(self, what: str, **facts: Any) -> dict[str, Any]:
        if self.busy:
            raise RefusedRequest("busy: one thing at a time", ExitCode.FAILED)
        self.asked.append((what, facts))
        return {"number": 1}


@pytest.fixture
def application(tmp_path: Path) -> Application:
    Catalogue(tmp_path).prepare()
    application = Application(Showing("title", data=str(tmp_path), sessions=("/there/one.yaml",)))
    application._submits = Owner()  # type: ignore[assignment]
    return application


def client(application: Application) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(application.asgi, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://page")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/login", b'{"token": "\\ud800"}', 401),
        ("POST", "/api/login", b"[" * 60_000, 400),
        ("POST", "/api/seek", b'{"seconds": NaN}', 400),
        ("POST", "/api/identify", b'{"ids": [], "settings": 5}', 400),
        ("POST", "/api/replay", b'{"id": 10000000000000000000}', 400),
        ("GET", "/api/catalogue/99999999999999999999999/outline", None, 400),
        ("GET", f"/api/compare?first={'9' * 5000}&second=1", None, 400),
    ],
    ids=["surrogate", "deep", "nan", "settings", "large", "entry", "digits"],
)
async def test_what_is_strange_is_refused_in_words(
    application: Application, method: str, path: str, body: bytes | None, status: int
) -> None:
    async with client(application) as page:
        answer = await page.request(method, path, content=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]


async def test_a_body_has_the_keys_of_the_interface_and_no_others(application: Application) -> None:
    """Where a session is recorded, for one, is the business of this host."""
    async with client(application) as page:
        refused = await page.post("/api/run", json={"session": "one.yaml", "out": "/elsewhere"})
        taken = await page.post("/api/run", json={"session": "one.yaml", "seed": 3})
    assert refused.status_code == 400
    assert "'out': no key of this request; it has" in refused.json()["error"]
    assert taken.status_code == 200
    request = {"session": "/there/one.yaml", "seed": 3}
    assert application._submits.asked == [("submit", {"kind": "run", "request": request})]  # type: ignore[union-attr]


async def test_an_import_that_is_refused_may_be_given_again(application: Application, tmp_path: Path) -> None:
    application._submits.busy = True  # type: ignore[union-attr]
    async with client(application) as page:
        refused = await page.post("/api/import", params={"name": "log.csv"}, content=b"t,q\n")
        assert (refused.status_code, refused.json()["exit_code"]) == (409, 4)
        application._submits.busy = False  # type: ignore[union-attr]
        assert (
            await page.post("/api/import", params={"name": "log.csv"}, content=b"t,q\n")
        ).status_code == 200
        again = await page.post("/api/import", params={"name": "log.csv"}, content=b"t,q\n")
    assert "was imported before" in again.json()["error"]
    assert [path.name for path in (tmp_path / "imported").iterdir()] == ["log.csv"]


async def test_two_imports_of_one_name_do_not_disturb_each_other(
    application: Application, tmp_path: Path
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> Any:
        yield b"t,q\n"
        begun.set()
        await go_on.wait()
        yield b"0,1\n"

    async with client(application) as page:
        first = asyncio.create_task(page.post("/api/import", params={"name": "log.csv"}, content=slow()))
        await asyncio.sleep(0.05)
        (tmp_path / "imported").mkdir(exist_ok=True)
        (tmp_path / "imported" / ".other.csv.part").write_bytes(b"of another upload")
        second = await page.post("/api/import", params={"name": "other.csv"}, content=b"x")
        go_on.set()
        assert (await first).status_code == 200
    assert (second.status_code, second.json()["error"]) == (
        400,
        "other.csv: is being imported already; wait for its end",
    )
    assert (tmp_path / "imported" / ".other.csv.part").read_bytes() == b"of another upload"
    assert (tmp_path / "imported" / "log.csv").read_bytes() == b"t,q\n0,1\n"


async def test_commands_of_a_page_run_one_at_a_time(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0

    async def command(*words: str) -> dict[str, Any]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return {"words": words}

    monkeypatch.setattr(module, "command_json", command)
    async with client(application) as page:
        answers = await asyncio.gather(*(page.get("/api/plan?session=one.yaml") for _ in range(5)))
    assert {answer.status_code for answer in answers} == {200}
    assert most == 1
