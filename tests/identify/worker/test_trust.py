"""The worker believes nobody: whatever answers in place of a session, it ends in words and writes nowhere else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import zmq

from heft.daq.bus import Endpoint
from heft.daq.bus.channel import Channel
from heft.daq.bus.keyring import Keyring
from heft.daq.clock import RealClock
from heft.daq.errors import UnreadableAnswer
from heft.daq.following.source import Source
from heft.identify.worker.worker import Verdict, Worker

Answer = Callable[[bytes, dict[str, Any]], list[bytes]]
INFO = {"session": "abc", "name": "short", "replay": False, "utc_offset_ns": 0}


def ok(payload: object, *buffers: bytes) -> list[bytes]:
    return [b"ok", json.dumps(payload).encode(), *buffers]


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[Endpoint]:
    """Somebody who answers requests as he likes."""
    server = Channel("test", zmq.ROUTER)
    endpoint = server.bind(Endpoint.parse("tcp://127.0.0.1:0"))

    async def serve() -> None:
        while True:
            client, number, name, payload, *_ = await server.receive()
            await server.send([client, number, *answer(name, json.loads(payload))])

    task = asyncio.create_task(serve())
    try:
        yield endpoint
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        server.close()


async def first_verdict(endpoint: Endpoint, out: Path) -> Verdict:
    sessions = Worker(endpoint, out, RealClock(), gone_s=0.4).sessions()
    try:
        async with asyncio.timeout(30.0):
            return await anext(sessions)
    finally:
        await sessions.aclose()


def files_under(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


GARBAGE = {
    "nothing": [],
    "one part": [b"ok"],
    "no JSON": [b"ok", b"\xff{"],
    "deep": [b"ok", b"[" * 50_000],
    "long": [b"ok", b'"' + b"x" * 100_000 + b'"'],
    "a list": ok([1, 2]),
    "no error": [b"error", b"{}"],
    "another kind": [b"error", b"[]"],
    "no description": ok({"session": "abc"}),
    "a path": ok({**INFO, "name": "../../x"}),
    "a path as id": ok({**INFO, "session": "../x"}),
    "an id that is a file here": ok({**INFO, "session": "result.json"}),
    "an escape": ok({**INFO, "name": "\x1b[2J"}),
    "a long name": ok({**INFO, "name": "x" * 300}),
    "a hidden file": ok({**INFO, "name": ".bashrc"}),
    "a time that is none": ok({**INFO, "utc_offset_ns": 10**400}),
}


@pytest.mark.parametrize("answer", GARBAGE.values(), ids=GARBAGE.keys())
async def test_garbage_is_told_and_ends_it(
    answer: list[bytes], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    async with answering(lambda name, payload: answer) as endpoint:
        with pytest.raises(UnreadableAnswer) as refused:
            await first_verdict(endpoint, out)
    assert str(refused.value) in caplog.text  # told when it was first seen
    assert str(refused.value).isprintable()
    assert files_under(tmp_path) == []


@pytest.mark.parametrize(
    "read",
    [
        ok({"size": 5, "ended": None}),
        ok({"size": "5", "ended": None}, b""),
        ok({"size": 10**40, "ended": None}, b""),
        ok({"size": 5, "ended": 7}, b""),
        ok({"size": 5, "ended": None}, bytes(3 << 20)),  # more than was asked for
        ok({"size": 1 << 60, "ended": {"state": "done", "reason": ""}}, b""),  # an end that never comes
        ok({"size": 8, "ended": {"state": "done", "reason": ""}}, b"\x89MCAP0\r\n"),
        ok({"size": 9000, "ended": {"state": "done", "reason": "\x1b[2J"}}, bytes(9000)),
    ],
)
async def test_a_recording_that_is_none_gives_no_result(read: list[bytes], tmp_path: Path) -> None:
    def answer(name: bytes, payload: dict[str, Any]) -> list[bytes]:
        if name == b"read" and not payload["length"]:
            return ok({"size": 0, "ended": None}, b"")
        return {b"describe": ok(INFO), b"read": read}.get(name, ok({}))

    async with answering(answer) as endpoint:
        verdict = await first_verdict(endpoint, tmp_path)
    assert verdict.result is None
    assert verdict.reason.replace("\n", " ").isprintable()
    assert {path.parent for path in files_under(tmp_path)} <= {tmp_path / "abc"}


@pytest.mark.slow
async def test_a_worker_without_leave_says_so_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the whole way: the command, its keys, and the session's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "session"))
    keyring = Keyring.of_user()
    own = keyring.new()
    other = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "other")}
    command = [sys.executable, "-m", "heft.main", "worker", "--out", str(tmp_path / "out"), "--once"]

    async def work(endpoint: Endpoint) -> subprocess.CompletedProcess[str]:
        arguments = [*command, "--bus", "tcp://127.0.0.1:1", "--following", str(endpoint)]
        return await asyncio.to_thread(
            subprocess.run, arguments, env=other, capture_output=True, text=True, timeout=110
        )

    async with Source(Endpoint.parse("curve+tcp://127.0.0.1:0"), "short", 0) as source:
        done = await work(source.server.endpoint)
        assert done.returncode == 2
        assert "make one with `heft keys new`" in done.stderr
        theirs = Keyring(tmp_path / "other" / "heft" / "keys")
        theirs.new()
        theirs.trust("127.0.0.1", own.public)
        done = await work(source.server.endpoint)
        assert done.returncode == 4
        assert "not authorised: ask whoever runs the session on 127.0.0.1 to run" in done.stderr
        assert f"`heft keys allow NAME '{theirs.own().public}' --may observe`" in done.stderr
        assert "Traceback" not in done.stderr
