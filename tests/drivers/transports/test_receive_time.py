"""The kernel's stamps in host time."""

from __future__ import annotations

import time

import pytest

from heft.daq.clock import ManualClock
from heft.drivers.transports.receive_time import ReceiveTime

SYSTEM_NS = 1_700_000_000_000_000_000


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """System time stands still, like the manual clock."""
    monkeypatch.setattr(time, "clock_gettime_ns", lambda clock: SYSTEM_NS)


async def test_a_stamp_is_as_old_in_host_time_as_in_system_time(manual: ManualClock) -> None:
    await manual.advance(5_000_000)
    now_ns = manual.now_ns()
    assert ReceiveTime(manual).host_ns(SYSTEM_NS - 300_000) == now_ns - 300_000
    assert ReceiveTime(manual).host_ns(SYSTEM_NS) == now_ns
    assert ReceiveTime(manual).host_ns() == now_ns


@pytest.mark.parametrize("kernel_ns", [0, SYSTEM_NS + 1, SYSTEM_NS - 11_000_000_000, -5])
def test_a_stamp_that_cannot_be_is_not_believed(manual: ManualClock, kernel_ns: int) -> None:
    assert ReceiveTime(manual).host_ns(kernel_ns) == manual.now_ns()


def test_times_never_go_back(manual: ManualClock) -> None:
    times = ReceiveTime(manual)
    first = times.host_ns(SYSTEM_NS - 100)
    assert times.host_ns(SYSTEM_NS - 2_000_000) == first  # system time was set back in between
    assert times.host_ns(SYSTEM_NS - 50) == first + 50
