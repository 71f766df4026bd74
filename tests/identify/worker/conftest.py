"""Sessions of the direct-drive arm, written straight into recordings, and a source that plays them as if live."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from heft.daq.bus.endpoint import Endpoint
from heft.daq.config.shipped import CONFIGS
from heft.daq.following.source import Source
from heft.daq.record import Writer
from heft.daq.recording import Recording
from heft.drivers import Block, Column, Stream
from heft.identify.data import KnownLoad
from heft.identify.robot import Robot

START_NS = 1_000_000_000
CLOCK = {"tick_hz": 1e6, "tick_bits": 32}
FILES = {"configuration/robot.yaml": "ddarm.yaml", "configuration/ddarm.xml": "ddarm.xml"}


def motion_of(t: np.ndarray, joints: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, dq, ddq of a sum of sines, each (T, n)."""
    rng = np.random.default_rng(1)
    w = 2 * np.pi * np.array([0.3, 0.7, 1.1])
    a, phase = rng.uniform(0.1, 0.3, (joints, 3)), rng.uniform(0, 6, (joints, 3))
    angle = np.multiply.outer(t, w)[:, None, :] + phase
    return (
        (a * np.sin(angle)).sum(axis=2),
        (a * w * np.cos(angle)).sum(axis=2),
        (-a * w**2 * np.sin(angle)).sum(axis=2),
    )


@pytest.fixture(scope="session")
def robot() -> Robot:
    return Robot.load(CONFIGS / "robots" / "ddarm.yaml")


@pytest.fixture(scope="session")
def write_session(robot: Robot) -> Callable[..., Path]:
    def write(
        path: Path,
        seconds: float = 8.0,
        state: str = "done",
        session: str = "",
        offset: float = 0.0,
        load: KnownLoad | None = None,
        heavier: tuple[float, float] | None = None,
        dead: str = "",
    ) -> Path:
        """Identification for three quarters of the time, then validation; blocks of 10 ms, flushed every 0.25 s.

        session   the session's file, where one is to travel inside
        offset    of all torques [N m]; `load` on the flange
        heavier   from this time on [s] the last link weighs this much of what it did
        dead      joint whose torque nothing measures: it is the same throughout
        """
        names, n = robot.joints, len(robot.joints)
        motion = Stream(
            "arm.motion", tuple(Column(j, "position", "rad", 1e-6) for j in names), 1000.0, "<i4", **CLOCK
        )
        torque = Stream(
            "arm.torque", tuple(Column(j, "torque", "N m", 1e-4) for j in names), 1000.0, "<i4", **CLOCK
        )
        t = np.arange(int(seconds * 1000)) * 1e-3
        q, dq, ddq = motion_of(t, n)
        assert robot.prior is not None
        parameters = robot.prior + (0.0 if load is None else load.parameters(robot))
        tau = offset + robot.torque(q, dq, ddq, parameters)
        if heavier is not None:
            since_s, factor = heavier
            last = np.zeros(len(robot.prior))
            last[10 * n - 10 : 10 * n] = (factor - 1) * robot.prior[10 * n - 10 : 10 * n]
            tau += np.where(t[:, None] >= since_s, robot.torque(q, dq, ddq, last), 0.0)
        tau += np.random.default_rng(0).normal(0, 0.05, q.shape)
        if dead:
            tau[:, names.index(dead)] = 0.37
        tables = {motion: np.rint(q / 1e-6).astype("<i4"), torque: np.rint(tau / 1e-4).astype("<i4")}
        with path.open("xb", buffering=0) as raw:
            writer = Writer(raw, 77)
            for name, file in FILES.items():
                writer.attach(name, "text/plain", 0, (CONFIGS / "robots" / file).read_bytes())
            if session:
                writer.attach("configuration/session.yaml", "text/plain", 0, session.encode())
            for stream in tables:
                writer.describe(stream)
            events = [
                {
                    "t_ns": START_NS + int(at * seconds * 1e9),
                    "name": f"segment_{what}",
                    "segment": use,
                    "use": use,
                }
                for what, use, at in (
                    ("start", "identification", 0.0),
                    ("end", "identification", 0.75),
                    ("start", "validation", 0.75),
                    ("end", "validation", 1.0),
                )
            ]
            end_ns = START_NS + int(seconds * 1e9)
            events.append({"t_ns": end_ns, "name": "state", "state": state, "reason": ""})
            for first in range(0, len(t), 10):
                while events[0]["t_ns"] <= START_NS + first * 1_000_000:
                    writer.event(events[0]["t_ns"], json.dumps(events.pop(0)))
                if first % 250 == 0:
                    writer.flush()
                part = slice(first, first + 10)
                index = np.arange(first, min(first + 10, len(t)))
                for stream, table in tables.items():
                    writer.block(
                        Block(
                            stream,
                            first,
                            START_NS + index * 1_000_000,
                            table[part],
                            np.zeros(table[part].shape, np.uint8),
                            ticks=index * 1000,
                        )
                    )
            for event in events:
                writer.event(event["t_ns"], json.dumps(event))
            writer.note("losses", {"none": "0"})
            writer.finish()
        return path

    return write


@pytest.fixture(scope="session")
def recorded(write_session: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_session(tmp_path_factory.mktemp("recorded") / "short.mcap")


@dataclass
class Live:
    """A session whose recording grows, byte by byte, as if it were just happening."""

    source: Source
    recording: Recording
    path: Path

    @property
    def session(self) -> str:
        return self.source.server.info.session

    def give(self, share: float) -> None:
        """Write the recording up to this share of its bytes."""
        data = self.recording.path.read_bytes()
        with self.path.open("ab") as file:
            file.write(data[file.tell() : round(share * len(data))])

    async def end(self, state: str = "done", reason: str = "") -> None:
        """The session is over; returns when its followers have everything."""
        await self.source.end(state, reason, {})


@pytest.fixture
def live(recorded: Path, tmp_path: Path) -> Callable[..., object]:
    @asynccontextmanager
    async def begin(endpoint: Endpoint | None = None) -> AsyncIterator[Live]:
        endpoint = endpoint or Endpoint.parse(f"ipc://{tmp_path}/telemetry")
        growing = tmp_path / "growing"
        growing.write_bytes(b"")
        async with Source(endpoint, "short", 77) as source:
            source.begin(growing)
            yield Live(source, Recording.open(recorded), growing)

    return begin


async def eventually(condition: Callable[[], bool]) -> None:
    """Return when it has become true."""
    while not condition():  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.005)
