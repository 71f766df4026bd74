"""A dataset from a recording: streams by joint name, device clocks, segments, invalid samples."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from heft.daq.record.writer import Writer
from heft.drivers.block import Block, Validity
from heft.drivers.stream import Column, Stream
from heft.identify.data import Dataset
from heft.identify.errors import DataError
from heft.identify.robot import Robot

NAMES = ("joint1", "joint2", "joint3")
START_NS = 1_000_000_000
COUNT = 6000


def stream(name: str, quantity: str, unit: str, order: tuple[str, ...] = NAMES, scale: float = 1.0) -> Stream:
    columns = tuple(Column(joint, quantity, unit, scale) for joint in order)
    return Stream(name, columns, 1000.0, tick_hz=1e6, tick_bits=24)


MOTION = stream("arm.motion", "position", "rad", order=("joint2", "joint1", "joint3"))
CURRENT = stream("arm.current", "current", "A")
ENCODERS = stream("encoders.position", "position", "rad")


class Session:
    """Writes blocks of 100 samples, as devices with a clock of their own would give them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._raw = path.open("wb", buffering=0)
        self._writer = Writer(self._raw, 0)
        self._rng = np.random.default_rng(0)

    def add(
        self,
        stream: Stream,
        t: np.ndarray,
        values: np.ndarray,
        skew_ppm: float = 0.0,
        invalid: tuple[int, ...] = (),
    ) -> None:
        late_ns = self._rng.exponential(2e5, len(t)).astype(np.int64)
        host_ns = START_NS + np.round(t * 1e9).astype(np.int64) + 100_000 + late_ns
        ticks = np.round((t + 10.0) * (1 - skew_ppm * 1e-6) * 1e6).astype(np.int64) % 2**24
        validity = np.zeros(values.shape, np.uint8)
        validity[list(invalid), 0] = Validity.SATURATED
        for first in range(0, len(t), 100):
            part = slice(first, first + 100)
            block = Block(
                stream,
                first,
                host_ns[part].copy(),
                values[part].copy(),
                validity[part].copy(),
                None,
                ticks[part].copy(),
            )
            self._writer.block(block)

    def segment(self, name: str, use: str, start_s: float, end_s: float) -> None:
        for kind, at in (("segment_start", start_s), ("segment_end", end_s)):
            t_ns = START_NS + int(at * 1e9)
            self._writer.event(t_ns, json.dumps({"t_ns": t_ns, "name": kind, "segment": name, "use": use}))

    def finish(self) -> Path:
        self._writer.finish()
        self._raw.close()
        return self.path


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path / "session.mcap")


@pytest.fixture
def written(session: Session, harmonic: Callable[..., tuple[np.ndarray, ...]]) -> Callable[..., Path]:
    def write(current_shift_s: float = 0.0, invalid: tuple[int, ...] = ()) -> Path:
        t = np.arange(COUNT) * 1e-3
        _, q, _, _ = harmonic(t)
        shifted = t + current_shift_s
        _, wave, _, _ = harmonic(shifted, seed=9)
        session.add(ENCODERS, t, q + 1.0)
        session.add(MOTION, t, q[:, [1, 0, 2]], skew_ppm=40.0, invalid=invalid)
        session.add(CURRENT, shifted, wave, skew_ppm=40.0)
        session.segment("excitation", "identification", 1.0, 4.0)
        session.segment("check", "validation", 4.0, 5.5)
        return session.finish()

    return write


def test_one_clock_joint_names_and_segments(arm: Robot, written: Callable[..., Path], harmonic) -> None:  # type: ignore[no-untyped-def]
    path = written()
    data = Dataset.from_recording(path, arm)
    assert data.t[0] == 0.0
    assert len(data) == pytest.approx(3000, abs=1)
    assert np.abs(np.diff(data.t) - 1e-3).max() < 1.1e-6  # a tick: not arrival times
    _, q, _, _ = harmonic(1.0 + np.arange(len(data)) * 1e-3)
    assert data.motor is not None
    assert (
        np.abs(data.motor - q).max() < 2e-3
    )  # within a sample: of the arm's stream, joints in the robot's order
    assert np.abs(data.q - q - 1.0).max() < 2e-3  # of the links, whose encoders have another zero
    assert any("differ: joint1 by 1, joint2 by 1, joint3 by 1 rad" in note for note in data.notes)
    _, wave, _, _ = harmonic(1.0 + np.arange(len(data)) * 1e-3, seed=9)
    assert np.abs(data.tau - wave).max() < 2e-3
    assert data.source.endswith("session.mcap")
    validation = Dataset.from_recording(path, arm, use="validation")
    assert len(validation) == pytest.approx(1500, abs=1)


def test_streams_sampled_at_other_instants(arm: Robot, written: Callable[..., Path], harmonic) -> None:  # type: ignore[no-untyped-def]
    data = Dataset.from_recording(written(current_shift_s=0.4e-3), arm)
    first = (
        np.abs(harmonic(1.0 + np.arange(-3, 4) * 1e-3)[1] - data.turned[0]).max(axis=1).argmin() - 3
    )  # which sample
    _, q, _, _ = harmonic(1.0 + (first + np.arange(len(data))) * 1e-3)
    _, wave, _, _ = harmonic(1.0 + (first + np.arange(len(data))) * 1e-3, seed=9)
    assert np.abs(data.turned - q).max() < 1e-9
    assert np.abs(data.tau - wave).max() < 1e-6  # at the same instants, not 0.4 ms off


def test_temperatures_of_the_joints_come_along(arm: Robot, session: Session, harmonic) -> None:  # type: ignore[no-untyped-def]
    t = np.arange(COUNT) * 1e-3
    session.add(MOTION, t, harmonic(t)[1][:, [1, 0, 2]])
    session.add(CURRENT, t, harmonic(t, seed=9)[1])
    slow = t[::100]
    warm = 300.0 + np.column_stack([slow, 2 * slow, 0 * slow])
    session.add(stream("arm.temperature", "temperature", "K"), slow, warm)
    session.segment("excitation", "identification", 1.0, 4.0)
    data = Dataset.from_recording(session.finish(), arm)
    assert data.temperature is not None
    found = data.temperature.at(np.array([0.0, 2.0]))  # 1 s and 3 s after the recording's begin
    np.testing.assert_allclose(found, [[301.0, 303.0], [302.0, 306.0], [300.0, 300.0]], atol=0.01)


def test_invalid_samples_are_left_out(arm: Robot, written: Callable[..., Path]) -> None:
    data = Dataset.from_recording(written(invalid=(2000, 2001, 2002)), arm)
    assert len(data) == pytest.approx(2997, abs=1)
    assert np.diff(data.t).max() == pytest.approx(4e-3, rel=1e-3)


def test_what_is_missing_is_said(arm: Robot, session: Session, written: Callable[..., Path]) -> None:
    path = written()
    with pytest.raises(
        DataError, match="no segment for payload; its segments are for: identification, validation"
    ):
        Dataset.from_recording(path, arm, use="payload")
    other = Robot.from_dh([{"alpha": 0.0, "a": 0.1, "d": 0.0}] * 4)
    with pytest.raises(
        DataError, match=r"no stream with torque or current of all joints \(joint1, .*right robot"
    ):
        Dataset.from_recording(path, other)


def test_without_segments_all_is_used(arm: Robot, session: Session) -> None:
    t = np.arange(500) * 1e-3
    session.add(MOTION, t, np.random.default_rng(0).standard_normal((500, 3)))
    session.add(CURRENT, t, np.zeros((500, 3)))
    data = Dataset.from_recording(session.finish(), arm)
    assert len(data) == 500
    assert "no segment for identification" in data.notes[0]
