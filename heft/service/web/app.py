"""The ASGI application: the page, its files, and requests that are passed on to the owner of the rig."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles

from heft.daq.bounded_json import bounded_json
from heft.daq.bus.control import ControlClient
from heft.daq.errors import BusError, ConfigError, SafetyStop
from heft.drivers.errors import HeftError
from heft.service.catalogue import imports_of
from heft.service.client import RefusedRequest, ServiceClient
from heft.service.reach import is_loopback
from heft.service.strict_json import strict_json
from heft.service.web.guard import COOKIE, MOST_BODY
from heft.service.web.hub import Hub
from heft.service.web.library import Library, command_json, file_name
from heft.service.web.openapi import OPERATIONS, openapi, openapi_page
from heft.service.web.ring import envelope
from heft.service.web.show import LiveSocket, Stopper
from heft.service.web_process import Showing

__all__ = ["Application"]

_log = logging.getLogger("heft.service")

ASSETS = Path(__file__).parent.parent / "assets"
POLL_S = 0.25
MOST_BINS = 4000
#: A session's preparation may take so long [s].
_PATIENCE_S = 120.0
#: Reports are pages of their own, with their scripts inside: shut in, they reach nothing of this page.
_REPORT_POLICY = "sandbox allow-scripts; default-src 'unsafe-inline' data: blob:"

#: Keys of each body, as the description of the interface has them.
_KEYS = {path: frozenset(keys) for method, path, _, keys in OPERATIONS if method == "post"}

Answer = Callable[[Request], Awaitable[Response]]


class Application:
    """Builds the application for one `Showing`; `asgi` is it."""

    def __init__(self, showing: Showing) -> None:
        self._showing = showing
        self._scene: dict[str, Any] | None = showing.scene
        self._job: int | None = None
        self.hub = Hub(showing.telemetry, self._joints)
        self._service = ServiceClient(_endpoint(showing.service)) if showing.service else None
        # A client of its own: a long request must not hold up the others.
        self._submits = ServiceClient(_endpoint(showing.service), _PATIENCE_S) if showing.service else None
        self._stops = ServiceClient(_endpoint(showing.service), 2.0) if showing.service else None
        self._library = Library(Path(showing.data)) if showing.data else None
        self._stopper = Stopper(showing.stop, self._stops)
        self.live = LiveSocket(self.hub)
        self._command = asyncio.Lock()  # one process at a time, however many ask
        sessions = {Path(path).name: path for path in showing.sessions}
        self._sessions = sessions
        self.asgi = Starlette(
            routes=[
                Route("/", self._page),
                Route("/favicon.ico", self._icon),
                Mount("/assets", StaticFiles(directory=ASSETS)),
                WebSocketRoute("/live", self.live.serve),
                WebSocketRoute("/stop", self._stopper.serve),
                *self._routes(),
            ],
            lifespan=self._lifespan,
        )

    def _routes(self) -> list[Route]:
        def get(path: str, answer: Callable[[Request], Awaitable[Any]]) -> Route:
            return Route(path, _spoken(answer), methods=["GET"])

        def post(path: str, answer: Callable[[Request], Awaitable[Any]]) -> Route:
            return Route(path, _spoken(answer), methods=["POST"])

        return [
            get("/api", self._openapi),
            get("/api/docs", self._openapi_page),
            get("/api/status", self._status),
            get("/api/scene", self._get_scene),
            get("/api/path", self._path),
            get("/api/sessions", self._get_sessions),
            get("/api/plan", self._plan),
            get("/api/plot", self._plot),
            get("/api/jobs/{number:int}", self._outcome),
            post("/api/run", self._run),
            post("/api/payload", self._payload),
            post("/api/probe", self._probe),
            post("/api/replay", self._replay),
            post("/api/identify", self._identify),
            post("/api/stop", self._stop),
            post("/api/pause", self._pause),
            post("/api/resume", self._resume),
            post("/api/seek", self._seek),
            post("/api/arm", self._arm),
            post("/api/disarm", self._disarm),
            post("/api/import", self._import),
            post("/api/login", self._login),
            get("/api/catalogue", self._catalogue),
            get("/api/catalogue/{number:int}/outline", self._outline),
            get("/api/catalogue/{number:int}/samples", self._samples),
            get("/api/catalogue/{number:int}/links", self._links),
            get("/api/catalogue/{number:int}/report", self._report),
            get("/api/catalogue/{number:int}/file", self._file),
            get("/api/compare", self._compare),
        ]

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self.hub.run(), name="hub")]
        for client in (self._service, self._submits, self._stops):
            if client is not None:
                await client.__aenter__()
        if self._service is not None:
            tasks.append(asyncio.create_task(self._poll(), name="status"))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for client in (self._service, self._submits, self._stops):
                if client is not None:
                    await client.__aexit__(None, None, None)

    async def _poll(self) -> None:
        """The owner's state, for all pages."""
        assert self._service is not None
        with suppress(BusError, RefusedRequest):
            self._scene = (await self._service.ask("scene"))["scene"]
        while True:
            try:
                status = await self._service.ask("status")
                await self._follow(status)
            except (BusError, RefusedRequest) as exc:
                status = {"state": "unreachable", "trouble": str(exc), "job": None}
            self.hub.put("status", status)
            await asyncio.sleep(POLL_S)

    async def _follow(self, status: dict[str, Any]) -> None:
        """Another job may be of another arm, and what was found is of the one before."""
        job = status.get("job")
        number = None if job is None else job["number"]
        if number is not None and number != self._job:
            self.hub.forget()
        if number != self._job and self._service is not None:
            self._job = number
            with suppress(BusError, RefusedRequest):
                self._scene = (await self._service.ask("scene"))["scene"]
            self.hub.scene_changed()

    def scene(self) -> dict[str, Any] | None:
        """The arm that is drawn."""
        return self._scene

    def _joints(self) -> list[str]:
        return [] if self._scene is None else [joint["name"] for joint in self._scene["joints"]]

    # -- the page -----------------------------------------------------------------------------------------------------

    async def _page(self, request: Request) -> Response:
        return FileResponse(ASSETS / "page.html", media_type="text/html")

    async def _icon(self, request: Request) -> Response:
        return RedirectResponse("/assets/icon.svg")

    async def _login(self, request: Request) -> Response:
        given = str((await _body(request)).get("token", ""))
        if not hmac.compare_digest(given.encode(errors="surrogatepass"), self._showing.token.encode()):
            client = request.client
            _log.warning("refused login of %s: a wrong token", client.host if client else "?")
            return Response(
                strict_json({"error": "a wrong token"}), status_code=401, media_type="application/json"
            )
        response = Response(strict_json({"ok": True}), media_type="application/json")
        secure = bool(self._showing.certificate)
        response.set_cookie(COOKIE, given, httponly=True, secure=secure, samesite="strict", path="/")
        return response

    async def _openapi(self, request: Request) -> Any:
        return openapi(self._showing.title)

    async def _openapi_page(self, request: Request) -> Any:
        return HTMLResponse(openapi_page(self._showing.title))

    # -- the owner ----------------------------------------------------------------------------------------------------

    async def _status(self, request: Request) -> Any:
        if self._service is None:
            return {"state": "watching", "title": self._showing.title, "job": None, "pages": self.live.pages}
        return {**await self._service.ask("status"), "pages": self.live.pages}

    async def _get_scene(self, request: Request) -> Any:
        return {"scene": self._scene}

    async def _path(self, request: Request) -> Any:
        return {"path": None} if self._service is None else await self._service.ask("path")

    async def _get_sessions(self, request: Request) -> Any:
        return {"sessions": sorted(self._sessions)}

    async def _plan(self, request: Request) -> Any:
        session = self._session(request.query_params.get("session", ""))
        async with self._command:
            return await command_json("plan", session, "--json")

    def _session(self, name: str) -> str:
        if name not in self._sessions:
            raise ConfigError(f"{name[:100]!r}: not among the sessions: {', '.join(sorted(self._sessions))}")
        return self._sessions[name]

    async def _submit(self, kind: str, **request: Any) -> Any:
        if self._submits is None:
            raise ConfigError("this page only watches; `heft serve` takes requests")
        return await self._submits.ask("submit", kind=kind, request=request)

    async def _run(self, request: Request) -> Any:
        asked = await _body(request)
        return await self._submit("run", **{**asked, "session": self._session(str(asked.get("session", "")))})

    async def _payload(self, request: Request) -> Any:
        asked = await _body(request)
        session = asked.get("session")
        chosen: dict[str, Any] = {key: asked[key] for key in ("arm", "speed", "seed") if key in asked}
        if session:
            chosen["session"] = self._session(str(session))
        return await self._submit("payload", **chosen)

    async def _probe(self, request: Request) -> Any:
        return await self._submit("probe", **await _body(request))

    async def _replay(self, request: Request) -> Any:
        asked = await _body(request)
        path = await asyncio.to_thread(self._entry, asked.get("id"), "recording", "pickup")
        options = {key: asked[key] for key in ("speed", "loop") if key in asked}
        return await self._submit("replay", file=str(path), **options)

    async def _identify(self, request: Request) -> Any:
        asked = await _body(request)
        numbers = asked.get("ids")
        settings = asked.get("settings", [])
        if not isinstance(numbers, list) or not isinstance(settings, list):
            raise ConfigError("ids, settings: give a list of numbers of recordings, and one of texts")
        files = await asyncio.to_thread(lambda: [str(self._entry(n, "recording")) for n in numbers])
        return await self._submit("identify", files=files, settings=[str(one) for one in settings])

    def _entry(self, number: Any, *kinds: str) -> Path:
        if self._library is None or type(number) is not int:
            raise ConfigError(f"{str(number)[:50]}: not a number of the catalogue")
        return self._library.entry(number, *kinds).path

    async def _outcome(self, request: Request) -> Any:
        return await self._ask("outcome", number=request.path_params["number"])

    async def _ask(self, what: str, **facts: Any) -> Any:
        if self._service is None:
            raise ConfigError("this page only watches; `heft serve` takes requests")
        return await self._service.ask(what, **facts)

    async def _stop(self, request: Request) -> Any:
        return await self._stopper.stop("stopped on the page")

    async def _pause(self, request: Request) -> Any:
        return await self._control("pause")

    async def _resume(self, request: Request) -> Any:
        return await self._control("resume")

    async def _control(self, what: str) -> Any:
        """Of the service, or of the session that this page shows."""
        if self._service is not None:
            return await self._service.ask(what)
        if not self._showing.control:
            raise ConfigError(f"nothing here can {what}")
        async with ControlClient(self._showing.control) as client:
            return dict((await client.request(what, timeout_s=45.0)).payload)

    async def _seek(self, request: Request) -> Any:
        seconds = (await _body(request)).get("seconds")
        if not isinstance(seconds, int | float):
            raise ConfigError("seconds: give a number")
        if self._service is None and self._showing.control:
            async with ControlClient(self._showing.control) as client:
                return dict((await client.request("seek", {"seconds": seconds})).payload)
        return await self._ask("seek", seconds=seconds)

    async def _arm(self, request: Request) -> Any:
        """A typed name, from this host; from another one where the service was started so."""
        host = request.client.host if request.client else ""
        if not is_loopback(host) and not self._showing.remote_arming:
            raise SafetyStop(
                f"a name typed at {host} does not arm this rig: type it at the service's terminal or on its own host, "
                "or start it with --arm-from-network"
            )
        name = str((await _body(request)).get("name", ""))
        return await self._ask("arm", name=name, by=f"on the page, at {host}")

    async def _disarm(self, request: Request) -> Any:
        return await self._ask("disarm")

    # -- data ---------------------------------------------------------------------------------------------------------

    async def _plot(self, request: Request) -> Any:
        stream, columns, begin, end, bins = _interval(request)
        ring = self.hub.rings.get(stream)
        if ring is None:
            raise ConfigError(f"{stream[:100]!r}: there is {', '.join(self.hub.rings) or 'no stream yet'}")
        names = [c.name for c in ring.stream.columns]
        chosen = [names.index(name) for name in columns if name in names]
        times, values = ring.between(int(begin * 1e9), int(end * 1e9))
        bin_ns = max(int((end - begin) * 1e9 / bins), 1)
        middle, low, high = await asyncio.to_thread(envelope, times, values[:, chosen], bin_ns)
        return {
            "columns": [names[i] for i in chosen],
            "t": (middle * 1e-9).tolist(),
            "low": low.T.tolist(),
            "high": high.T.tolist(),
        }

    async def _catalogue(self, request: Request) -> Any:
        return {"entries": await asyncio.to_thread(self._shelf().entries)}

    def _shelf(self) -> Library:
        if self._library is None:
            raise ConfigError("this page has no catalogue; `heft serve` has")
        return self._library

    async def _outline(self, request: Request) -> Any:
        return await asyncio.to_thread(self._shelf().outline, request.path_params["number"])

    async def _links(self, request: Request) -> Any:
        return {"links": await asyncio.to_thread(self._shelf().links, request.path_params["number"])}

    async def _samples(self, request: Request) -> Any:
        stream, columns, begin, end, bins = _interval(request)
        number = request.path_params["number"]
        return await asyncio.to_thread(self._shelf().samples, number, stream, columns, begin, end, bins)

    async def _report(self, request: Request) -> Any:
        path = await asyncio.to_thread(self._shelf().report, request.path_params["number"])
        policy = {"content-security-policy": _REPORT_POLICY}
        return FileResponse(path, media_type="text/html", headers=policy)

    async def _file(self, request: Request) -> Any:
        entry = await asyncio.to_thread(self._shelf().entry, request.path_params["number"])
        return FileResponse(entry.path, media_type="application/octet-stream", filename=entry.path.name)

    async def _compare(self, request: Request) -> Any:
        numbers = [request.query_params.get(key, "") for key in ("first", "second")]
        if not all(number.isdecimal() and len(number) < 19 for number in numbers):
            raise ConfigError("first, second: give numbers of two results")
        paths = await asyncio.to_thread(lambda: [str(self._entry(int(n), "result")) for n in numbers])
        async with self._command:
            return await command_json("compare", *paths, "--json")

    async def _import(self, request: Request) -> Any:
        """The body becomes a file of the data folder, which the owner then imports."""
        shelf = self._shelf()
        name = file_name(request.query_params.get("name", ""))
        folder = imports_of(shelf.catalogue.folder)
        folder.mkdir(exist_ok=True)
        target = folder / name
        if target.exists() or target.is_symlink():
            raise ConfigError(f"{name}: was imported before; give the file another name")
        draft = folder / f".{name}.part"
        try:
            file = draft.open("xb")
        except FileExistsError as exc:
            raise ConfigError(f"{name}: is being imported already; wait for its end") from exc
        try:
            with file:
                async for chunk in request.stream():
                    await asyncio.to_thread(file.write, chunk)
            draft.rename(target)
        finally:
            draft.unlink(missing_ok=True)
        if name.endswith(".mcap"):
            await asyncio.to_thread(shelf.catalogue.refresh)
            return {"number": None, "file": name}
        try:
            return {**await self._submit("import", file=str(target)), "file": name}
        except RefusedRequest:  # it may be given again
            target.unlink(missing_ok=True)
            raise


def _endpoint(text: str) -> Any:
    from heft.daq.bus.endpoint import Endpoint

    return Endpoint.parse(text)


async def _body(request: Request) -> dict[str, Any]:
    """The body, with keys of the interface alone: what else a job can be told (a folder, say) comes from this host."""
    text, known = await request.body(), _KEYS[request.url.path]
    try:
        value = bounded_json(text or b"{}", most=MOST_BODY)
    except ValueError as exc:
        raise ConfigError(f"the body is no JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise ConfigError("the body is no JSON object")
    strange = sorted(set(value) - known)
    if strange:
        raise ConfigError(
            f"{strange[0][:100]!r}: no key of this request; it has {', '.join(sorted(known)) or 'none'}"
        )
    return value


def _interval(request: Request) -> tuple[str, list[str], float, float, int]:
    """Stream, columns, beginning and end [s], number of intervals."""
    query = request.query_params
    try:
        begin, end, bins = float(query["begin"]), float(query["end"]), int(query.get("bins", "1000"))
    except (KeyError, ValueError) as exc:
        raise ConfigError(f"begin, end, bins: give numbers ({exc})") from exc
    if not 0 < bins <= MOST_BINS or not -1e9 < begin < end < 1e9:
        raise ConfigError(f"{bins} intervals from {begin:g} s to {end:g} s: at most {MOST_BINS}, forward")
    return query.get("stream", ""), query.get("columns", "").split(","), begin, end, bins


def _spoken(answer: Callable[[Request], Awaitable[Any]]) -> Answer:
    """An answer as JSON; what is refused, in words."""

    async def reply(request: Request) -> Response:
        try:
            value = await answer(request)
        except RefusedRequest as exc:
            _log.warning("refused %s: %s", request.url.path, exc)
            return _json({"error": str(exc), "exit_code": int(exc.code)}, 409)
        except HeftError as exc:
            _log.warning("refused %s: %s", request.url.path, exc)
            return _json({"error": str(exc)}, 403 if isinstance(exc, SafetyStop) else 400)
        except OSError as exc:
            text = f"{exc.filename or ''}: {exc.strerror or exc}; check the disk and the path"
            return _json({"error": text}, 507)
        return value if isinstance(value, Response) else _json(value, 200)

    return reply


def _json(value: Any, status: int) -> Response:
    return Response(strict_json(value), status_code=status, media_type="application/json")
