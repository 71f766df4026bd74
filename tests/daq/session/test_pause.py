"""An operator's pause: at rest on the path, recorded, and it goes on; on a simulated clock and in real time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft import Robot, fit
from heft.attachments import attachments_of
from heft.daq.bus import ControlClient, private_endpoints
from heft.daq.clock import HostClock, RealClock, SimulatedClock
from heft.daq.config.session import load_session
from heft.daq.errors import RemoteError
from heft.daq.recording import Recording
from heft.daq.session.outcome import Outcome
from heft.daq.session.session import Session
from heft.daq.session.sink import Sink
from heft.identify.data.dataset import Dataset

CONFIGS = Path(__file__).parents[3] / "configs"
SECOND = 1_000_000_000


class Operator(Sink):
    """Does things so many seconds after the excitation has begun."""

    def __init__(self, actions: Mapping[float, str]) -> None:
        self.session: Session | None = None
        self.states: list[str] = []
        self._actions = dict(sorted(actions.items()))
        self._start_ns: int | None = None

    def event(self, name: str, t_ns: int, facts: Mapping[str, Any]) -> None:
        if name == "segment_start" and facts["use"] == "identification" and self._start_ns is None:
            self._start_ns = t_ns

    def state(self, state: str, reason: str) -> None:
        self.states.append(state)

    def block(self, block: Any) -> None:
        now_ns = int(block.host_ns[-1])
        while self._start_ns is not None and self._actions and block.stream.name == "arm.motion":
            at_s, action = next(iter(self._actions.items()))
            if now_ns < self._start_ns + at_s * SECOND:
                break
            del self._actions[at_s]
            assert self.session is not None
            if action == "stop":
                self.session.stop("by hand")
            else:
                getattr(self.session, action)()


def make(folder: Path, seconds: float, operator: Operator, clock: HostClock, endpoints: Any) -> Session:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "session.yaml"
    steps = f"{{seconds: {seconds}, period_s: {seconds}, blend_s: 1, seed: 3}}"
    path.write_text(
        f"name: s\nrig: {CONFIGS / 'rigs/sim_wam7.yaml'}\napproach_fraction: 0.9\n"
        f"watch: {{stream_age_s: 2.0}}\n"  # a busy host is not what is tried out here
        f"steps:\n  - {{name: sway, use: identification, fourier: {steps}}}\n"
    )
    config = load_session(path)
    session = Session(
        config,
        clock=clock,
        out=folder,
        endpoints=endpoints,
        attachments=attachments_of(config),
        sinks=[operator],
    )
    operator.session = session
    return session


def run(folder: Path, seconds: float, actions: Mapping[float, str]) -> tuple[Operator, Outcome]:
    operator = Operator(actions)

    async def play() -> Outcome:
        with private_endpoints() as endpoints:
            return await make(folder, seconds, operator, SimulatedClock(), endpoints).run()

    return operator, asyncio.run(play())


@pytest.mark.slow
def test_a_pause_is_at_rest_on_the_path_and_goes_on(tmp_path: Path) -> None:
    operator, outcome = run(tmp_path, 5.0, {2.0: "pause", 6.0: "resume"})
    assert str(outcome.state) == "done", outcome.reason
    moving = operator.states.index("paused")
    assert operator.states[moving - 1 : moving + 2] == ["moving", "paused", "moving"]
    recording = Recording.open(outcome.file)
    events = {event.name: event.t_ns for event in recording.events if event.name in ("paused", "resumed")}
    first, second = recording.segments
    assert (first.name, first.use, second.name) == ("sway", "identification", "sway")
    assert first.end_ns == events["paused"]
    assert second.start_ns > events["resumed"]
    t, motion = host_times(recording, "arm.motion")
    still = (t > events["paused"] + SECOND // 4) & (t < events["resumed"])
    assert still.sum() > 1500
    assert np.abs(motion[still, 7:14]).max() < 0.02
    assert np.ptp(motion[still, :7], axis=0).max() < 1e-3
    # What was sent is all of the plan, on its path, inside every limit.
    _, sent = host_times(recording, "arm.sent")
    limits = load_session(tmp_path / "session.yaml").rig.limits
    assert (np.abs(sent[:, 7:14]) <= limits.velocity).all()
    assert (np.abs(sent[:, 14:]) <= limits.acceleration).all()
    assert outcome.tracking < 0.02


def host_times(recording: Recording, stream: str) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    blocks = list(recording.blocks(stream))
    return np.concatenate([b.host_ns for b in blocks]), np.concatenate([b.si for b in blocks])


@pytest.mark.slow
def test_a_stop_during_a_pause_works_and_after_it_too(tmp_path: Path) -> None:
    for number, actions in enumerate(
        ({1.0: "pause", 4.0: "stop"}, {1.0: "pause", 4.0: "resume", 5.5: "stop"})
    ):
        operator, outcome = run(tmp_path / str(number), 5.0, actions)
        assert (str(outcome.state), outcome.reason) == ("aborted", "by hand")
        assert "paused" in operator.states
        names = [event.name for event in Recording.open(outcome.file).events]
        assert names.index("paused") < names.index("hold") < names.index("drives_off")


@pytest.mark.slow
def test_a_paused_session_is_identified_as_one_without(tmp_path: Path) -> None:
    robot = Robot.load(CONFIGS / "robots/wam7.yaml")
    results = []
    for name, actions in (
        ("whole", {}),
        ("paused", {3.0: "pause", 10.0: "resume", 14.0: "pause", 15.0: "resume"}),
    ):
        _, outcome = run(tmp_path / name, 10.0, actions)
        assert str(outcome.state) == "done", outcome.reason
        results.append(fit(robot, Dataset.from_recording(outcome.file, robot), method="wls"))
    whole, paused = (result.base for result in results)
    spread = np.sqrt(np.asarray(whole.std) ** 2 + np.asarray(paused.std) ** 2)
    away = np.abs(np.asarray(whole.values) - np.asarray(paused.values)) / spread
    assert np.mean(away < 2.0) > 0.85
    assert away.max() < 5.0


@pytest.mark.slow
@pytest.mark.alone
async def test_another_process_pauses_and_resumes_in_real_time(tmp_path: Path) -> None:
    with private_endpoints() as endpoints:
        # Slower than real: a busy host has 1.6 s for a setpoint then.
        session = make(tmp_path, 2.5, Operator({}), RealClock(0.25), endpoints)
        running = asyncio.create_task(session.run())
        try:
            async with ControlClient(endpoints.control, timeout_s=30.0) as client:
                while str(session.state) != "moving":
                    assert not session.state.final
                    await asyncio.sleep(0.02)
                with pytest.raises(RemoteError, match="cannot go on: it is moving, not paused"):
                    await client.request("resume")
                assert (await client.request("pause")).payload["state"] == "paused"
                assert str(session.state) == "paused"
                await client.request("resume")
                outcome = await running
        finally:
            session.stop("the test is over")
            await asyncio.gather(running, return_exceptions=True)
    assert str(outcome.state) == "done", outcome.reason
