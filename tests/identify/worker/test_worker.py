"""The worker against a session: what it answers, and that nothing that happens on the way changes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heft.daq import topics
from heft.daq.bus import Endpoint, Message, Subscriber
from heft.daq.clock import RealClock
from heft.daq.recording import Recording
from heft.daq.recording.growing import GrowingRecording
from heft.daq.replay.replay import Replay
from heft.identify.fit import identify_recordings
from heft.identify.robot import Robot
from heft.identify.worker import provisional as provisional_module
from heft.identify.worker.provisional import Provisional
from heft.identify.worker.worker import Verdict, Worker

if TYPE_CHECKING:
    from tests.identify.worker.conftest import Live

Begin = Callable[..., Any]


@pytest.fixture(scope="module")
def offline(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What identification of the file itself gives."""
    path = identify_recordings([Recording.open(recorded)]).save(
        tmp_path_factory.mktemp("offline") / "result.json"
    )
    return path.read_bytes()


async def first_verdict(worker: Worker) -> Verdict:
    sessions = worker.sessions()
    try:
        return await anext(sessions)
    finally:
        await sessions.aclose()


def worker_of(live: Live, out: Path, **options: Any) -> Worker:
    return Worker(live.source.server.endpoint, out, RealClock(), **options)


async def eventually(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.005)


async def test_it_follows_a_session_and_answers_as_offline(
    live: Begin, tmp_path: Path, offline: bytes
) -> None:
    async with live() as session:
        working = asyncio.create_task(first_verdict(worker_of(session, tmp_path / "work")))
        for share in (0.1, 0.4, 0.7, 1.0):
            session.give(share)
            await asyncio.sleep(0.05)
        await session.end()
        verdict = await working
    assert verdict.ended is not None
    assert verdict.ended.state == "done"
    assert verdict.reason == ""
    folder = tmp_path / "work" / verdict.session.session
    assert (tmp_path / "work" / "result.json").read_bytes() == offline
    assert (folder / "result.json").read_bytes() == offline
    assert verdict.path == folder / "short.mcap"
    assert verdict.path.read_bytes() == session.recording.path.read_bytes()


async def test_one_that_comes_late_gets_all_of_it(live: Begin, tmp_path: Path, offline: bytes) -> None:
    async with live() as session:
        session.give(1.0)
        ending = asyncio.create_task(session.source.end("done", "", {"worker": lambda: True}))
        verdict = await first_verdict(worker_of(session, tmp_path))
        await ending
    assert verdict.result is not None
    assert (tmp_path / "result.json").read_bytes() == offline


async def test_one_that_was_killed_goes_on_where_it_was(live: Begin, tmp_path: Path, offline: bytes) -> None:
    async with live() as session:
        killed = asyncio.create_task(first_verdict(worker_of(session, tmp_path)))
        session.give(0.5)
        partial = tmp_path / session.session / "short.mcap.partial"
        await eventually(lambda: partial.exists() and partial.stat().st_size > 10_000)
        killed.cancel()
        await asyncio.gather(killed, return_exceptions=True)
        session.give(0.8)
        again = asyncio.create_task(first_verdict(worker_of(session, tmp_path)))
        session.give(1.0)
        await session.source.end("done", "", {"worker": lambda: True})
        verdict = await again
    assert verdict.result is not None
    assert (tmp_path / "result.json").read_bytes() == offline


async def test_an_acquisition_that_dies_is_identified_from_what_came(live: Begin, tmp_path: Path) -> None:
    async with live() as session:
        worker = Worker(session.source.server.endpoint, tmp_path, RealClock(), gone_s=0.5)
        working = asyncio.create_task(first_verdict(worker))
        session.give(0.7)
        partial = tmp_path / session.session / "short.mcap.partial"
        await eventually(lambda: partial.exists() and partial.stat().st_size > 10_000)
        await asyncio.sleep(0.5)
    verdict = await working
    assert verdict.ended is None
    assert verdict.reason == "the acquisition has died: this is from what had arrived"
    assert verdict.result is not None
    assert verdict.to_dict()["state"] == "died"
    assert verdict.path.name == "short.mcap.partial"


async def test_several_sessions_in_a_row(live: Begin, tmp_path: Path, offline: bytes) -> None:
    worker: Worker | None = None
    verdicts: list[Verdict] = []

    async def work(worker: Worker) -> None:
        async for verdict in worker.sessions():
            verdicts.append(verdict)

    working = None
    for number in range(2):
        async with live() as session:
            if working is None:
                worker = worker_of(session, tmp_path)
                working = asyncio.create_task(work(worker))
            session.give(1.0)
            await session.source.end("done", "", {"worker": lambda: True})
        await eventually(lambda number=number: len(verdicts) > number)
    assert working is not None
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert len({verdict.session.session for verdict in verdicts}) == 2
    for verdict in verdicts:
        assert (tmp_path / verdict.session.session / "result.json").read_bytes() == offline


async def test_a_session_that_was_aborted_is_copied_but_not_identified(live: Begin, tmp_path: Path) -> None:
    async with live() as session:
        working = asyncio.create_task(first_verdict(worker_of(session, tmp_path)))
        session.give(1.0)
        await session.source.end("aborted", "a hand", {"worker": lambda: True})
        verdict = await working
    assert verdict.result is None
    assert "was aborted (a hand)" in verdict.reason
    assert f"heft identify {verdict.path}" in verdict.reason
    assert Recording.open(verdict.path).recovery.ok
    assert not (tmp_path / "result.json").exists()


async def test_a_recording_that_failed_is_copied_as_far_as_it_goes(live: Begin, tmp_path: Path) -> None:
    async with live() as session:
        working = asyncio.create_task(first_verdict(worker_of(session, tmp_path)))
        session.give(0.6)
        await session.source.end("failed", "no space left", {"worker": lambda: True})
        verdict = await working
        assert verdict.path.read_bytes() == session.path.read_bytes()
    assert verdict.path.name == "short.mcap.partial"
    assert "was failed (no space left)" in verdict.reason
    assert len(list(Recording.open(verdict.path).blocks("arm.motion"))) > 100


async def test_data_that_nothing_can_be_identified_from(
    live: Begin, write_session: Callable[..., Path], tmp_path: Path
) -> None:
    async with live() as session:
        session.path.write_bytes(write_session(tmp_path / "empty.mcap", seconds=0.0).read_bytes())
        working = asyncio.create_task(first_verdict(worker_of(session, tmp_path)))
        await session.source.end("done", "", {"worker": lambda: True})
        verdict = await working
    assert verdict.result is None
    assert "was its device connected?" in verdict.reason


async def test_progress_and_result_are_on_the_bus(
    live: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provisional_module, "WINDOW_NS", 2_000_000_000)
    monkeypatch.setattr("heft.identify.worker.follower.TELL_NS", 10_000_000)
    heard: list[Message] = []

    async def listen(endpoint: Endpoint) -> None:
        async with Subscriber(endpoint, [topics.WORKERS]) as telemetry:
            async for message in telemetry:
                heard.append(message)

    async with live() as session:
        listening = asyncio.create_task(listen(session.source.publisher.endpoint))
        working = asyncio.create_task(first_verdict(worker_of(session, tmp_path, name="bench")))
        session.give(0.4)
        await eventually(lambda: any(m.json.get("rank") for m in heard))
        session.give(1.0)
        await session.source.end("done", "", {"bench": lambda: True})
        verdict = await working
        await eventually(lambda: heard[-1].topic == "worker/bench/result")
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    progress = next(m.json for m in heard if m.json.get("rank"))
    assert progress["provisional"] is True
    assert 0 < progress["samples"] < 8000
    assert 0 < progress["rank"] <= progress["of"]
    assert progress["condition_number"] > 1
    assert set(progress["estimate"]) == set(verdict.result.robot.parameter_names)  # type: ignore[union-attr]
    result = heard[-1].json
    assert result["state"] == "done"
    assert result["result"]["parameters"] == verdict.result.to_dict()["parameters"]  # type: ignore[union-attr]


async def test_a_replay_is_followed_like_a_session(recorded: Path, tmp_path: Path, offline: bytes) -> None:
    endpoint = Endpoint.parse(f"ipc://{tmp_path}/telemetry")
    async with Replay(Recording.open(recorded), endpoint, None) as replay:
        working = asyncio.create_task(first_verdict(Worker(endpoint.following, tmp_path, RealClock())))
        await replay.play()
        await replay.followed({"worker": lambda: True})
        verdict = await working
    assert verdict.session.replay
    assert (tmp_path / "result.json").read_bytes() == offline


def test_provisional_answers_come_near_the_final_one(
    recorded: Path, robot: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provisional_module, "WINDOW_NS", 2_000_000_000)
    data = recorded.read_bytes()
    path = tmp_path / "growing"
    path.write_bytes(b"")
    provisional = Provisional(GrowingRecording(path), lambda: robot, "sdp", "full")
    samples = []
    for at in range(0, len(data), len(data) // 40):
        with path.open("ab") as file:
            file.write(data[at : at + len(data) // 40])
        if provisional.look():
            samples.append(provisional.progress.samples)
    assert len(samples) >= 3
    assert samples == sorted(set(samples))
    result = identify_recordings([Recording.open(recorded)])
    assert provisional.progress.rank == result.rank
    assert provisional.progress.estimate is not None
    for name, value in provisional.progress.estimate.items():
        if name.endswith(".m"):
            assert value == pytest.approx(result.to_dict()["parameters"][name], rel=0.2)
