"""The description of the HTTP interface: OpenAPI 3.1, and the same as a page for people."""

from __future__ import annotations

from html import escape
from typing import Any

from heft import __version__

__all__ = ["OPERATIONS", "openapi", "openapi_page"]

_NUMBER, _TEXT, _YES = {"type": "number"}, {"type": "string"}, {"type": "boolean"}
_SPEED = {"type": ["number", "string"], "description": "times real time, or max; simulated rigs only"}

#: Method, path, what it does, and the keys of its body or query.
OPERATIONS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("get", "/api/status", "where the service stands: state, job, arming, trouble, news", {}),
    ("get", "/api/scene", "the arm to draw: joints and solids", {}),
    ("get", "/api/path", "the flange's planned way, and when each point is reached", {}),
    ("get", "/api/sessions", "session files that can be run here", {}),
    (
        "get",
        "/api/plan",
        "the plan of a session and its checks: what will move, how far and how fast",
        {"session": _TEXT},
    ),
    (
        "post",
        "/api/run",
        "run a session; answers with the job's number",
        {
            "session": _TEXT,
            "identify": _YES,
            "seed": {"type": "integer"},
            "speed": _SPEED,
            "unrehearsed": _YES,
        },
    ),
    (
        "post",
        "/api/payload",
        "weigh what is picked up; with a session: while it runs",
        {"session": _TEXT, "arm": _YES, "speed": _SPEED, "seed": {"type": "integer"}},
    ),
    ("post", "/api/probe", "identity, rate and clock of every device; nothing moves", {"seconds": _NUMBER}),
    (
        "post",
        "/api/replay",
        "replay a recording of the catalogue",
        {"id": {"type": "integer"}, "speed": _SPEED, "loop": _YES},
    ),
    (
        "post",
        "/api/identify",
        "identify the arm from recordings of the catalogue",
        {
            "ids": {"type": "array", "items": {"type": "integer"}},
            "settings": {"type": "array", "items": _TEXT},
        },
    ),
    ("get", "/api/jobs/{number}", "the outcome of a job; null while it is under way", {}),
    (
        "post",
        "/api/stop",
        "stop what is under way, drives off; whether it was heard, or nothing was to stop",
        {},
    ),
    ("post", "/api/pause", "come to rest on the path, or halt a replay", {}),
    ("post", "/api/resume", "go on", {}),
    ("post", "/api/seek", "go on at another place of a replay [s]", {"seconds": _NUMBER}),
    (
        "post",
        "/api/arm",
        "let a real rig move for a limited time: the robot's name, typed",
        {"name": _TEXT},
    ),
    ("post", "/api/disarm", "from now on nothing may begin to move", {}),
    (
        "get",
        "/api/plot",
        "live samples of the last minute: minima and maxima of intervals",
        {"stream": _TEXT, "columns": _TEXT, "begin": _NUMBER, "end": _NUMBER, "bins": {"type": "integer"}},
    ),
    ("get", "/api/catalogue", "recordings, results, pick-ups and pages of fleets, the newest first", {}),
    ("get", "/api/catalogue/{number}/outline", "streams and segments of a recording", {}),
    (
        "get",
        "/api/catalogue/{number}/samples",
        "minima and maxima of a recording's columns",
        {"stream": _TEXT, "columns": _TEXT, "begin": _NUMBER, "end": _NUMBER, "bins": {"type": "integer"}},
    ),
    ("get", "/api/catalogue/{number}/links", "a result's links: mass, centre of mass, 95 % intervals", {}),
    ("get", "/api/catalogue/{number}/report", "the report of a result, the page of a fleet", {}),
    ("get", "/api/catalogue/{number}/file", "the file itself", {}),
    (
        "get",
        "/api/compare",
        "two results: what moved, and how each predicts the other's data",
        {"first": {"type": "integer"}, "second": {"type": "integer"}},
    ),
    ("post", "/api/import", "import a file of another tool: its bytes as the body", {"name": _TEXT}),
    ("post", "/api/login", "the token, in exchange for a cookie", {"token": _TEXT}),
)


def openapi(title: str) -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, Any] = {}
    for method, path, what, keys in OPERATIONS:
        operation: dict[str, Any] = {
            "summary": what,
            "responses": {
                "200": {"description": "done", "content": {"application/json": {}}},
                "400": {"description": "refused: `error` says what, the value, the bound and the remedy"},
            },
            "parameters": [{"name": "number", "in": "path", "required": True, "schema": {"type": "integer"}}]
            if "{number}" in path
            else [],
        }
        if path == "/api/import":
            operation["parameters"] = [{"name": "name", "in": "query", "required": True, "schema": _TEXT}]
            operation["requestBody"] = {"content": {"application/octet-stream": {}}}
        elif method == "get":
            operation["parameters"] += [
                {"name": name, "in": "query", "schema": schema} for name, schema in keys.items()
            ]
        else:
            schema = {"type": "object", "properties": keys, "additionalProperties": False}
            operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
        paths.setdefault(path, {})[method] = operation
    info = {"title": f"Heft: {title}", "version": __version__}
    return {"openapi": "3.1.0", "info": info, "paths": paths}


def openapi_page(title: str) -> str:
    """A table of all operations."""
    rows = "".join(
        f"<tr><td><code>{method.upper()}</code></td><td><code>{escape(path)}</code></td><td>{escape(what)}</td>"
        f"<td>{escape(', '.join(keys))}</td></tr>"
        for method, path, what, keys in OPERATIONS
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>Heft: {escape(title)}: interface</title>"
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/assets/page.css"></head>'
        f'<body class="reading"><main><h1>Interface of {escape(title)}</h1>'
        "<p>Requests and answers are JSON; a refusal has "
        '<code>error</code>. As OpenAPI 3.1: <a href="/api">/api</a>. Live data: the websocket '
        "<code>/live</code>; a stop that waits behind nothing: the websocket <code>/stop</code>, any message.</p>"
        "<table><thead><tr><th>method</th><th>path</th><th>what</th><th>keys</th></tr></thead><tbody>"
        f"{rows}</tbody></table></main></body></html>"
    )
