"""Cycles of a host that is late: servos are asked, and controllers told trajectories, one cycle after the other until
it is in time again; what is later than that is left out and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from heft.drivers import registry
from heft.drivers.driver import Context

MS = 1_000_000
AXES = ("joint1", "joint2")


class LateClock:
    """Wakes whoever sleeps later than asked, by the next of these times [ns]; after the last, never."""

    def __init__(self, late_ns: Sequence[int]) -> None:
        self._late_ns, self._now_ns = iter(late_ns), 0

    def now_ns(self) -> int:
        return self._now_ns

    async def sleep_until(self, t_ns: int) -> None:
        late_ns = next(self._late_ns, None)
        if late_ns is None:
            raise asyncio.CancelledError
        self._now_ns = max(self._now_ns, t_ns) + late_ns


SERVOS = {
    "port": "x",
    "rate_hz": 200,
    "axes": {a: {"id": i, "model": "XM430-W350"} for i, a in enumerate(AXES, 1)},
}
TRAJECTORIES = {"state_hz": 500.0, "effort": "torque", "ahead_s": 0.1}  # 100 cycles per second
POSITIONS = {**TRAJECTORIES, "command": "positions"}


@pytest.mark.parametrize(
    ("kind", "options", "late_ms", "sent_ms", "skipped"),
    [
        ("dynamixel", SERVOS, [0, 3, 0], [0, 5, 10], 0),
        ("dynamixel", SERVOS, [0, 23, 0, 0], [0, 5, 10, 15], 0),
        ("dynamixel", SERVOS, [0, 67, 0], [0, 75], 14),  # what is under way may still come in
        ("ros2", TRAJECTORIES, [0, 7, 0], [0, 10, 20], 0),
        ("ros2", TRAJECTORIES, [0, 47, 0, 0], [0, 10, 20, 30], 0),
        ("ros2", TRAJECTORIES, [0, 53, 0], [0, 70], 6),  # the controller goes on by what it knows
        ("ros2", POSITIONS, [0, 7, 0], [0, 20], 1),  # a step is in force when it comes
    ],
)
async def test_late_cycles_are_made_up_for(kind, options, late_ms, sent_ms, skipped):
    clock = LateClock([round(ms * MS) for ms in late_ms])
    model = registry.driver_options(kind).model_validate(options)
    driver = registry.create_driver(kind, "arm", model, Context(clock, axes=AXES))
    sent: list[int] = []

    async def exchange(due_ns: int) -> None:
        sent.append(due_ns)

    driver._exchange = exchange
    with pytest.raises(asyncio.CancelledError):
        await driver._run_cycle()
    assert [t / MS for t in sent] == sent_ms
    assert driver.counters.skipped == skipped
