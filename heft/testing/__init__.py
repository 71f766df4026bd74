"""Tests for drivers of others: the suite that every kind of device of Heft passes, to be used by any package.

    from heft.testing import Case, DriverSuite

    class TestAcmeScale(DriverSuite):
        kind = "acme_scale"
        case = Case(driver={"port": "/dev/ttyUSB0"}, emulator={}, ...)

It needs `pip install 'heft[testing]'` (pytest, pytest-asyncio). See docs/adding-a-device.md.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("heft.testing.driver_suite", "heft.testing.stand")

from heft.testing.case import Case, Truth  # noqa: E402
from heft.testing.driver_suite import DriverSuite  # noqa: E402
from heft.testing.stand import Held, Stand, stand, take  # noqa: E402

__all__ = ["Case", "DriverSuite", "Held", "Stand", "Truth", "stand", "take"]
