"""Clocks for the transports."""

from __future__ import annotations

import pytest

from heft.daq.clock import ManualClock, RealClock


@pytest.fixture
def clock() -> RealClock:
    return RealClock()


@pytest.fixture
def manual() -> ManualClock:
    return ManualClock()
