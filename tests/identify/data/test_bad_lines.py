"""Streams that stop, clocks that jump, devices that restart, lines that lose: used as far as sound, and said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from heft.daq.record.writer import Writer
from heft.drivers.block import Block, Validity
from heft.drivers.stream import Column, Stream
from heft.identify import Dataset, fit
from heft.identify.errors import DataError
from heft.identify.robot import Robot

NAMES = ("joint1", "joint2", "joint3")
START_NS = 1_000_000_000
COUNT = 16000
DELAY_S = 0.0021


def stream(name: str, quantity: str, unit: str) -> Stream:
    return Stream(
        name, tuple(Column(joint, quantity, unit) for joint in NAMES), 1000.0, tick_hz=1e6, tick_bits=32
    )


MOTION, TORQUE = stream("arm.motion", "position", "rad"), stream("arm.torque", "torque", "N m")
WRENCH = Stream(
    "wrist.wrench",
    tuple(
        Column(axis, quantity, unit)
        for quantity, unit in (("force", "N"), ("torque", "N m"))
        for axis in "xyz"
    ),
    1000.0,
    tick_hz=1e6,
    tick_bits=32,
)


@pytest.fixture
def written(tmp_path: Path, arm: Robot, truth: np.ndarray, harmonic) -> Callable[..., Path]:  # type: ignore[no-untyped-def]
    def write(
        keep: Callable[[np.ndarray], np.ndarray] | None = None,
        ticks_of: Callable[[np.ndarray], np.ndarray] | None = None,
        spoil: Callable[[np.ndarray, np.ndarray], None] | None = None,
        torque_until: int = COUNT,
        motion_until: int = COUNT,
        wrench_until: int = 0,
        only: str = "",
    ) -> Path:
        """Faults of all streams, or of the `only` one named; with a wrench where `wrench_until` says so."""
        path = tmp_path / "session.mcap"
        with path.open("wb", buffering=0) as raw:
            writer = Writer(raw, 0)
            t = np.arange(COUNT) * 1e-3
            _, q, dq, ddq = harmonic(t - DELAY_S)
            tau = arm.torque(q, dq, ddq, truth) + 0.05 * np.random.default_rng(0).standard_normal(q.shape)
            force = np.random.default_rng(5).standard_normal((COUNT, 6))
            streams = [(MOTION, harmonic(t)[1], motion_until), (TORQUE, tau, torque_until)]
            for one, values, until in [*streams, *([(WRENCH, force, wrench_until)] if wrench_until else [])]:
                faults = (keep, ticks_of, spoil) if only in ("", one.name) else (None, None, None)
                _blocks(writer, one, t[:until], values[:until].copy(), *faults)
            for kind, at in (("segment_start", 0.5), ("segment_end", COUNT * 1e-3 - 0.5)):
                t_ns = START_NS + int(at * 1e9)
                event = {"t_ns": t_ns, "name": kind, "segment": "excitation", "use": "identification"}
                writer.event(t_ns, json.dumps(event))
            writer.finish()
        return path

    return write


def _blocks(writer, one, t, values, keep, ticks_of, spoil) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(3)
    host_ns = START_NS + np.round(t * 1e9).astype(np.int64) + rng.exponential(2e5, len(t)).astype(np.int64)
    host_ns = np.maximum.accumulate(host_ns)
    device = np.round((t + 10.0) * (1 - 30e-6) * 1e6).astype(np.int64)
    ticks = (device if ticks_of is None else ticks_of(device)) % 2**32
    validity = np.zeros(values.shape, np.uint8)
    if spoil is not None:
        spoil(values, validity)
    there = np.ones(len(t), dtype=bool) if keep is None else keep(np.arange(len(t)))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], there.astype(np.int8), [0]])))
    for low, high in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        for first in range(low, high, 100):
            part = slice(first, min(first + 100, high))
            arrays = (
                host_ns[part].copy(),
                values[part].copy(),
                validity[part].copy(),
                None,
                ticks[part].copy(),
            )
            writer.block(Block(one, first, *arrays))


def check(arm: Robot, data: Dataset, truth: np.ndarray) -> list[str]:
    """The answer is right within its intervals; its warnings."""
    result = fit(arm, data, "wls", cutoff_hz=8.0)
    off = np.abs(result.base.values - result.base.matrix @ truth) / result.base.std
    assert np.mean(off < 2.5) > 0.9
    assert result.delays["arm.torque"].value_s == pytest.approx(DELAY_S, abs=2e-4)
    return list(result.warnings)


def test_a_good_line(arm: Robot, truth: np.ndarray, written: Callable[..., Path]) -> None:
    data = Dataset.from_recording(written(), arm)
    assert not data.notes
    check(arm, data, truth)


def test_thirty_per_cent_lost(arm: Robot, truth: np.ndarray, written: Callable[..., Path]) -> None:
    lost = np.random.default_rng(1).random(COUNT) < 0.3
    data = Dataset.from_recording(written(keep=lambda k: ~lost[k]), arm)
    said = check(arm, data, truth)
    assert any("30." in line and "missing or invalid" in line for line in said)
    assert data.removed["arm.motion: lost before the host"] == pytest.approx(0.3 * COUNT, rel=0.1)


def test_most_of_it_lost_is_refused(arm: Robot, written: Callable[..., Path]) -> None:
    lost = np.random.default_rng(1).random(COUNT) < 0.6
    with pytest.raises(
        DataError, match=r"60 % of the samples of arm.motion .* at most 50 % may be; record again"
    ):
        Dataset.from_recording(written(keep=lambda k: ~lost[k]), arm)


def test_a_stream_that_stops_half_way(arm: Robot, truth: np.ndarray, written: Callable[..., Path]) -> None:
    data = Dataset.from_recording(written(torque_until=11000), arm)
    assert data.duration_s == pytest.approx(10.5, abs=0.01)
    assert any("arm.torque ends 4.5 s before its segment does" in line for line in check(arm, data, truth))


def test_a_device_that_restarts(arm: Robot, truth: np.ndarray, written: Callable[..., Path]) -> None:
    """Its counter begins anew at a random number; nothing came for a while."""

    def restarted(ticks: np.ndarray) -> np.ndarray:
        late = np.arange(len(ticks)) >= 8000
        return np.where(late, ticks - ticks[min(8000, len(ticks) - 1)] + 123456, ticks)

    gone = (np.arange(COUNT) >= 7500) & (np.arange(COUNT) < 8000)
    data = Dataset.from_recording(written(keep=lambda k: ~gone[k], ticks_of=restarted), arm)
    said = check(arm, data, truth)
    assert any("arm.motion: its clock jumped 1 times" in line for line in said)
    assert any("gaps" in line for line in said)


def test_a_clock_that_jumps(arm: Robot, truth: np.ndarray, written: Callable[..., Path]) -> None:
    def jumped(ticks: np.ndarray) -> np.ndarray:
        return ticks + np.where(np.arange(len(ticks)) >= 9000, 40_000, 0)  # 40 ms

    data = Dataset.from_recording(written(ticks_of=jumped), arm)
    said = check(arm, data, truth)
    assert any("its clock jumped" in line for line in said)


def test_spikes_stale_and_corrupt_samples_are_left_out_and_counted(
    arm: Robot, truth: np.ndarray, written: Callable[..., Path]
) -> None:
    def spoil(values: np.ndarray, validity: np.ndarray) -> None:
        values[[3000, 5001, 9002], 1] += 40.0
        validity[4000:4010] = Validity.STALE
        values[4000:4010] = values[3999]
        validity[6000:6005] = Validity.CORRUPT
        values[6000:6005] = 1e9

    data = Dataset.from_recording(written(spoil=spoil), arm)
    assert data.removed["arm.torque: spike"] == 3
    assert data.removed["arm.torque: invalid"] == 15
    check_account(data)
    check(arm, data, truth)


def check_account(data: Dataset) -> None:
    """Every sample of the positions' stream was used, or left out for one reason."""
    assert data.sent["arm.motion"] == len(data) + sum(
        count for reason, count in data.removed.items() if not reason.startswith("arm.torque: ")
    )


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_samples_add_up(arm: Robot, written: Callable[..., Path], share: float) -> None:
    lost = np.random.default_rng(2).random(COUNT) < share
    lost[[0, -1]] = False  # of what was lost before the first sample and after the last nobody knows
    data = Dataset.from_recording(written(keep=lambda k: ~lost[k]), arm)
    check_account(data)
    assert data.sent == {"arm.motion": COUNT, "arm.torque": COUNT}


def test_positions_that_stop_half_way(arm: Robot, truth: np.ndarray, written: Callable[..., Path]) -> None:
    data = Dataset.from_recording(written(motion_until=9500), arm)
    assert data.duration_s == pytest.approx(9.0, abs=0.01)
    assert any("arm.motion ends 6.0 s before its segment does" in line for line in check(arm, data, truth))


@pytest.mark.parametrize("until", [{"torque_until": 6000}, {"motion_until": 6000}])
def test_a_stream_that_stops_before_the_middle_is_refused(
    arm: Robot, written: Callable[..., Path], until: dict[str, int]
) -> None:
    with pytest.raises(DataError, match=r"63 % of the samples of arm.motion with arm.torque are missing"):
        Dataset.from_recording(written(**until), arm)


@pytest.mark.parametrize("jump_s", [0.04, -0.04, 2.0])
@pytest.mark.parametrize("only", ["arm.motion", "arm.torque"])
def test_one_clock_of_two_jumps(
    arm: Robot, truth: np.ndarray, written: Callable[..., Path], only: str, jump_s: float
) -> None:
    """The other stream's clock goes on: without a fit for each part, torques would be late by the jump."""

    def jumped(ticks: np.ndarray) -> np.ndarray:
        return ticks + np.where(np.arange(len(ticks)) >= 9000, round(jump_s * 1e6), 0)

    data = Dataset.from_recording(written(ticks_of=jumped, only=only), arm)
    said = check(arm, data, truth)
    assert any(f"{only}: its clock jumped 1 times (by " in line for line in said)
    assert not any("moves during the session" in line for line in said)


@pytest.mark.parametrize("only", ["arm.motion", "arm.torque"])
def test_one_device_of_two_restarts(
    arm: Robot, truth: np.ndarray, written: Callable[..., Path], only: str
) -> None:
    """Silent for 2 s, then its counter begins anew."""

    def restarted(ticks: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(ticks)) >= 8000, ticks - ticks[8000] + 777, ticks)

    def keep(k: np.ndarray) -> np.ndarray:
        return (k < 6000) | (k >= 8000)

    data = Dataset.from_recording(written(keep=keep, ticks_of=restarted, only=only), arm)
    said = check(arm, data, truth)
    assert len(data) == pytest.approx(13000, abs=10)
    assert any(f"{only}: its clock jumped" in line for line in said)
    assert any("1 gaps, 2 s in all" in line for line in said)
    check_account(data)


def test_a_device_that_restarts_again_and_again(
    arm: Robot, truth: np.ndarray, written: Callable[..., Path]
) -> None:
    """What came between two restarts within a second cannot be placed in time: it is left out, and counted."""

    def restarted(ticks: np.ndarray) -> np.ndarray:
        part = np.digitize(np.arange(len(ticks)), [7000, 7400, 7900])
        return ticks + np.array([0, 50_000_000, 7_000_000, 90_000_000])[part]

    data = Dataset.from_recording(written(ticks_of=restarted, only="arm.torque"), arm)
    said = check(arm, data, truth)
    assert any("arm.torque: its clock jumped 3 times" in line for line in said)
    assert data.removed["arm.torque: without a stamp"] == 900
    assert data.removed["without torque"] == pytest.approx(900, abs=10)


def test_thirty_per_cent_lost_in_bursts(arm: Robot, truth: np.ndarray, written: Callable[..., Path]) -> None:
    """Fifty milliseconds each: bridges of that length are believed at a low cut-off, and cost the rows beside them at a
    higher one. The choice is the low one."""
    lost = np.zeros(COUNT, dtype=bool)
    for start in range(1000, COUNT - 1000, 170):
        lost[start : start + 50] = True
    data = Dataset.from_recording(written(keep=lambda k: ~lost[k]), arm)
    with pytest.raises(
        DataError, match=r"none of \d+ rows can be used: .* beside bridged gaps; raise the cut-off"
    ):
        fit(arm, data, "wls", cutoff_hz=8.0)
    for given_hz in (None, 20.0):
        result = fit(arm, data, "wls", cutoff_hz=given_hz)
        off = np.abs(result.base.values - result.base.matrix @ truth) / result.base.std
        assert np.mean(off < 2.5) > 0.9
        assert any("missing or invalid" in line for line in result.warnings)
        rows = result.provenance.data[0].rows
        assert (rows["used"] > 0.6 * rows["on the grid"]) == (given_hz is None)


def test_a_wrist_sensor_that_stops_half_way_is_said_and_counted(
    arm: Robot, written: Callable[..., Path]
) -> None:
    gone = (np.arange(COUNT) >= 3000) & (np.arange(COUNT) < 3200)
    data = Dataset.from_recording(
        written(wrench_until=9000, keep=lambda k: ~gone[k], only="wrist.wrench"), arm
    )
    assert any("wrist.wrench ends 6.5 s before its segment does" in note for note in data.notes)
    assert data.sent["wrist.wrench"] == 9000
    assert data.removed["wrist.wrench: lost before the host"] == 200
    assert data.wrench is not None
    known = np.isfinite(data.wrench).all(axis=1)
    assert known.sum() == pytest.approx(8500 - 200, abs=10)
    assert not known[-6000:].any()


def test_a_wrist_sensor_that_restarts_is_said(arm: Robot, written: Callable[..., Path]) -> None:
    def restarted(ticks: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(ticks)) >= 8000, ticks - ticks[8000] + 55, ticks)

    data = Dataset.from_recording(written(wrench_until=COUNT, ticks_of=restarted, only="wrist.wrench"), arm)
    assert any("wrist.wrench: its clock jumped 1 times" in note for note in data.notes)


def test_a_wrist_sensor_without_two_samples_is_refused_by_name(
    arm: Robot, written: Callable[..., Path]
) -> None:
    data = Dataset.from_recording(written(wrench_until=1), arm)
    assert data.wrench is None
    assert any("wrist.wrench is not used" in note and "1 samples" in note for note in data.notes)


def test_a_stream_that_begins_late(arm: Robot, truth: np.ndarray, written: Callable[..., Path]) -> None:
    data = Dataset.from_recording(written(keep=lambda k: k >= 4000, only="arm.torque"), arm)
    assert any("arm.torque begins 3.5 s after its segment does" in line for line in check(arm, data, truth))
