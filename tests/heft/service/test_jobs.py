"""Jobs: they end from any moment on, and say how they have ended."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from heft.commands import payload
from heft.daq.bus.endpoint import Endpoints
from heft.daq.config.rig import load_rig
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError
from heft.identify.errors import DataError
from heft.main import main
from heft.service.command_jobs import CommandJob, ImportJob, ImportRequest
from heft.service.job import Place
from heft.service.jobs import KINDS, make_job
from heft.service.operator_arming import OperatorArming
from heft.service.owner import RigOwner
from heft.service.probe_job import ProbeJob, ProbeRequest
from heft.service.recovery import recover_all
from heft.service.registration import RunningService
from heft.service.web.openapi import OPERATIONS
from heft.service.weighing_job import WeighingJob, WeighingRequest

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


def test_a_stop_on_two_ways_is_told_once() -> None:
    class StoppedJob:
        kind, label = "run", "one"

        def __init__(self) -> None:
            self.reasons: list[str] = []

        def stop(self, reason: str) -> None:
            self.reasons.append(reason)

    owner = RigOwner(NOWHERE, cast(Any, None), None)
    for _ in range(2):
        job = StoppedJob()
        owner._job = cast(Any, job)
        assert owner.stop("stopped on the page")
        assert owner.stop("stopped on the page")
        assert len(job.reasons) == 2
    assert [one["text"] for one in owner.news] == ["run one is stopped: stopped on the page"] * 2


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


@pytest.fixture
def place(tmp_path: Path) -> Place:
    rig = load_rig(CONFIGS / "rigs" / "sim_wam7.yaml")
    return Place(rig, None, cast(Endpoints, None), tmp_path, OperatorArming(rig, lambda: 0.0), seed=5)


async def test_a_file_that_could_not_be_imported_may_be_given_again(place: Place, tmp_path: Path) -> None:
    given = tmp_path / "imported" / "log.csv"
    given.parent.mkdir()
    given.write_text("nothing,of,use\n", encoding="utf-8")
    job = ImportJob(place, ImportRequest(file=str(given)))
    assert (await job.run())["exit_code"] != 0
    job.close()
    assert list(given.parent.iterdir()) == []


def test_what_a_killed_service_had_not_imported_may_be_given_again(tmp_path: Path) -> None:
    folder = tmp_path / "imported"
    folder.mkdir()
    whole = ("own.mcap", "log.csv", "log.csv.mcap")
    for name in (*whole, "other.csv", ".draft.csv.part"):
        (folder / name).touch()
    (folder / "of somebody").mkdir()
    assert len(recover_all(tmp_path)) == 2
    assert sorted(path.name for path in folder.iterdir()) == sorted((*whole, "of somebody"))


def test_a_file_elsewhere_is_not_imported_by_the_service(place: Place, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="`heft import` takes files from anywhere"):
        ImportJob(place, ImportRequest(file=str(tmp_path / "log.csv")))


def test_a_weighing_by_a_service_has_the_seed_that_was_asked_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def ask(service: Any, kind: str, request: dict[str, Any], **options: Any) -> int:
        asked.update(request)
        return 0

    service = RunningService("rig", 1, place.rig.path, "http://127.0.0.1:1/", cast(Any, None))
    monkeypatch.setattr(payload, "_service", lambda live: service)
    monkeypatch.setattr(payload, "ask_service", ask)
    assert main(["payload", "--live", str(place.rig.path), "--seed", "3"]) == 0
    assert asked["seed"] == 3
    for request, seed in ((WeighingRequest(seed=3), 3), (WeighingRequest(), place.seed)):
        assert WeighingJob(place, request)._order.seed == seed


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
