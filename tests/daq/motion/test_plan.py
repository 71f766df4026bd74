"""The plan: refused where it asks for too much, and hours of it in bounded memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from heft.daq.config.session import SessionConfig, load_session
from heft.daq.errors import CheckError, ConfigError
from heft.daq.motion.plan import make_plan
from heft.daq.trajectory.trajectory import PIECE

RIG = Path(__file__).parents[3] / "configs/rigs/sim_wam7.yaml"


def session(folder: Path, *, rate_hz: float, fourier: str) -> SessionConfig:
    path = folder / "session.yaml"
    path.write_text(
        f"name: long\nrig: {RIG}\nrate_hz: {rate_hz}\nsteps:\n  - {{name: sway, fourier: {{{fourier}}}}}\n"
    )
    return load_session(path)


@pytest.mark.slow
def test_hours_of_motion_are_planned_in_bounded_memory(tmp_path: Path) -> None:
    """Five hours; all setpoints at once would take 150 MB, and several times that while they are checked."""
    config = session(tmp_path, rate_hz=50.0, fourier="seconds: 18000, seed: 3")
    tracemalloc.start()
    try:
        (leg,) = make_plan(config)
        assert leg.trajectory is not None
        for chunk in leg.trajectory.chunks(0, chunk_ns=100_000_000):
            if chunk.sequence > 50_000:
                break
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(leg.trajectory) == 18000 * 50 + 1 + 2 * 100
    assert peak < 50e6


def test_a_motion_is_the_same_whatever_pieces_it_is_asked_for_in(tmp_path: Path) -> None:
    (leg,) = make_plan(session(tmp_path, rate_hz=1000.0, fourier="seconds: 25, seed: 3"))
    motion = leg.trajectory
    assert motion is not None
    whole = motion.window(0, len(motion))
    assert len(whole) > 2 * PIECE
    chunks = list(motion.chunks(0, chunk_ns=70_000_000))
    for name in ("position", "velocity", "acceleration"):
        assert np.array_equal(np.concatenate([getattr(c, name) for c in chunks]), getattr(whole, name))
    assert [c.last for c in chunks] == [False] * (len(chunks) - 1) + [True]
    pieces = list(motion.pieces())
    assert [piece.first for piece in pieces] == [0, PIECE - 1, 2 * PIECE - 1]


def test_too_few_setpoints_are_refused_with_the_rate_that_is_enough(tmp_path: Path) -> None:
    with pytest.raises(
        CheckError, match=r"5 setpoints per second are too few.*set rate_hz to (\d+) or more"
    ) as info:
        make_plan(session(tmp_path, rate_hz=5.0, fourier="seconds: 10, seed: 3"))
    enough = float(str(info.value).split("set rate_hz to ")[1].split()[0])
    make_plan(session(tmp_path, rate_hz=2 * enough, fourier="seconds: 10, seed: 3"))


@pytest.mark.parametrize(
    ("rate_hz", "fourier", "message"),
    [
        (1e9, "seconds: 10, seed: 3", "rate_hz.*equal to 20000"),
        (1000.0, "seconds: 1.0e+6, seed: 3", "seconds.*86400"),
        (1000.0, "seconds: 86400, seed: 3", "the motion takes 86404 s, at most 86400 s"),
        (10000.0, "seconds: 80000, seed: 3", "setpoints, at most 100000000; lower it"),
        (1000.0, "seconds: 10, seed: 3, harmonics: 1000000", "harmonics.*100"),
    ],
)
def test_absurd_requests_are_refused_with_the_bound(
    tmp_path: Path, rate_hz: float, fourier: str, message: str
) -> None:
    with pytest.raises((ConfigError, CheckError), match=message):
        make_plan(session(tmp_path, rate_hz=rate_hz, fourier=fourier))
