"""Jobs: they end from any moment on, and say how they have ended."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from heft.identify.errors import DataError
from heft.service.command_jobs import CommandJob
from heft.service.job import Place
from heft.service.jobs import ProbeJob

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
    job = ProbeJob(NOWHERE)
    job.stop("asked for")
    assert await job.run() == {"state": "aborted", "reason": "asked for", "devices": {}}
