"""Jobs: they end from any moment on, and say how they have ended."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from heft.daq.errors import ConfigError
from heft.identify.errors import DataError
from heft.service.command_jobs import CommandJob
from heft.service.job import Place
from heft.service.jobs import KINDS, make_job
from heft.service.probe_job import ProbeJob, ProbeRequest
from heft.service.web.openapi import OPERATIONS

NOWHERE = cast(Place, None)


@pytest.mark.parametrize(
    ("text", "state"),
    [('{"error": "no samples"}', "failed"), ('{"mass": 1.0}', None), ('{"state": "done"}', "done")],
)
async def test_a_command_that_says_an_error_has_failed(text: str, state: str | None) -> None:
    job = CommandJob(NOWHERE, ["-c", f"print({text!r})"], "one")
    facts = await job.run()
    assert facts.get("state") == state
    assert facts["exit_code"] == 0


async def test_a_command_is_stopped_while_it_is_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    job = CommandJob(NOWHERE, ["-c", "import time; time.sleep(30)"], "one")
    start = asyncio.create_subprocess_exec

    async def starting(*words: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*words, **options)
        job.stop("asked for")
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", starting)
    async with asyncio.timeout(10):
        with pytest.raises(DataError, match="stopped"):
            await job.run()


async def test_a_probe_that_waits_for_the_rig_is_stopped() -> None:
    job = ProbeJob(NOWHERE, ProbeRequest())
    job.stop("asked for")
    assert await job.run() == {"state": "aborted", "reason": "asked for", "devices": {}}


@pytest.mark.parametrize(
    ("kind", "request_", "words"),
    [
        ("dance", {}, "'dance': not a job; one of run, payload"),
        ("run", {}, "run: session: Field required; see /api"),
        ("run", {"session": "one.yaml", "seed": "3"}, "run: seed: "),
        ("run", {"session": "one.yaml", "seed": -1}, "run: seed: "),
        ("run", {"session": "one.yaml", "identify": 1}, "run: identify: "),
        ("run", {"session": "one.yaml", "speed": 0}, "run: speed: '0' is not a speed"),
        ("run", {"session": "one.yaml", "speed": True}, "run: speed: give a positive number, or max"),
        ("run", {"session": "one.yaml", "force": True}, "run: force: Extra inputs are not permitted"),
        ("payload", {"dimensions": [1, 2]}, "payload: dimensions"),
        ("probe", {"seconds": float("nan")}, "probe: seconds: "),
        ("probe", {"seconds": 61}, "probe: seconds: "),
        ("replay", {"file": ["one.mcap"]}, "replay: file: "),
        ("identify", {"files": []}, "identify: files: "),
        ("identify", {"files": "one.mcap"}, "identify: files: "),
    ],
)
def test_a_request_that_is_wrong_names_its_key(kind: str, request_: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make_job(kind, NOWHERE, request_)
    assert str(refused.value).startswith(words)


def test_keys_of_the_interface_are_those_of_the_jobs() -> None:
    ways = {path.removeprefix("/api/"): keys for method, path, _, keys in OPERATIONS if method == "post"}
    for kind, own in (
        ("run", ()),
        ("payload", ()),
        ("probe", ()),
        ("replay", ("id",)),
        ("identify", ("ids",)),
    ):
        assert set(ways[kind]) - set(own) <= set(KINDS[kind].request.model_fields)
