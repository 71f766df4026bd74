"""Setpoints are judged where the drives are: what may not be played is refused, with the reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from heft.daq.errors import CheckError
from heft.daq.motion.judge import SetpointJudge
from heft.daq.trajectory import Brake, Limits, Trajectory, minimum_jerk
from heft.drivers.setpoints import Setpoints

AXES = ("shoulder", "elbow")
LIMITS = Limits(
    axes=AXES,
    lower=np.full(2, -1.0),
    upper=np.full(2, 1.0),
    velocity=np.full(2, 2.0),
    acceleration=np.full(2, 5.0),
    brakes=(Brake(np.arange(2), np.full(2, 5.0)),),
)


def chunks() -> list[Setpoints]:
    move = minimum_jerk(
        (0.0, 0.0), (0.5, -0.5), velocity=(1.0, 1.0), acceleration=(3.0, 3.0), rate_hz=1000.0, axes=AXES
    )
    return list(move.chunks(1_000_000_000, chunk_ns=100_000_000))


def changed(chunk: Setpoints, name: str, row: int, value: float) -> Setpoints:
    array = getattr(chunk, name).copy()
    array[row, 1] = value
    return replace(chunk, **{name: array})


def test_a_motion_passes_and_another_from_where_it_ended() -> None:
    judge = SetpointJudge(LIMITS, 1000.0)
    for chunk in chunks():
        judge.judge(chunk)
    end = chunks()[-1]
    back = minimum_jerk(
        end.position[-1], (0, 0), velocity=(1, 1), acceleration=(3, 3), rate_hz=1000.0, axes=AXES
    )
    for chunk in back.chunks(int(end.host_ns[-1]) + 500_000_000, chunk_ns=100_000_000):
        judge.judge(chunk)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda c: changed(c, "position", 3, np.nan),
            r"position of elbow is nan at sample \d+, must be a number",
        ),
        (lambda c: changed(c, "velocity", 3, np.inf), "velocity of elbow is inf"),
        (lambda c: changed(c, "position", 3, 2.0), "elbow: position 2 rad .*bound 1 rad"),
        (lambda c: changed(c, "position", 0, 0.9), r"elbow: velocity .*bound .*2 rad/s"),  # a jump
        (lambda c: changed(c, "velocity", 3, -1.9), r"elbow: acceleration"),
        (lambda c: changed(c, "acceleration", 3, 50.0), r"elbow: acceleration 50 rad/s2"),
        (
            lambda c: replace(c, host_ns=c.host_ns - 200_000_000),
            "before the last that was sent; keep their order",
        ),
        (lambda c: replace(c, host_ns=c.host_ns + 10_000_000), "from one to the next, must be 0.001000 s"),
        (lambda c: replace(c, last=True), "does not end at rest"),
        (
            lambda c: replace(
                c, position=c.position[:, :1], velocity=c.velocity[:, :1], acceleration=c.acceleration[:, :1]
            ),
            "for 1 axes, the robot has 2: shoulder, elbow",
        ),
        (lambda c: _long(c), "20000 in one chunk, must be 1 to 10000"),
    ],
)
def test_what_may_not_be_played_is_refused_with_its_reason(wrong: object, message: str) -> None:
    judge = SetpointJudge(LIMITS, 1000.0)
    first, second, *_ = chunks()
    judge.judge(first)
    with pytest.raises(CheckError, match=message) as info:
        judge.judge(wrong(second))  # type: ignore[operator]
    assert str(info.value).startswith("setpoints refused: ")
    judge.judge(second)  # and nothing of it is remembered


def _long(chunk: Setpoints) -> Setpoints:
    many = np.zeros((20_000, 2))
    return Setpoints(chunk.sequence, chunk.host_ns[0] + 1_000_000 * np.arange(20_000), many, many, many)


def test_a_motion_begins_at_rest_where_the_last_one_ended() -> None:
    judge = SetpointJudge(LIMITS, 1000.0)
    with pytest.raises(CheckError, match="does not begin at rest"):
        judge.judge(chunks()[3])
    for chunk in chunks():
        judge.judge(chunk)
    end = chunks()[-1]
    elsewhere = replace(chunks()[0], host_ns=end.host_ns[-1] + chunks()[0].host_ns)
    with pytest.raises(CheckError, match=r"shoulder would jump by 0\.5 rad"):
        judge.judge(elsewhere)
    judge.reset()
    judge.judge(elsewhere)


def test_a_check_that_is_handed_in_is_asked() -> None:
    def torque(trajectory: Trajectory) -> None:
        raise CheckError("elbow: torque 90 N m, bound 77 N m")

    with pytest.raises(CheckError, match="setpoints refused: elbow: torque 90"):
        SetpointJudge(LIMITS, 1000.0, [torque]).judge(chunks()[0])
