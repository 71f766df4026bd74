"""Intervals as values."""

import json

import numpy as np
import pytest

from heft.identify.certainty import Interval
from heft.identify.certainty.interval import quantile


def test_width_goes_with_degrees_of_freedom() -> None:
    assert quantile(np.inf) == pytest.approx(1.95996, abs=1e-4)
    assert quantile(9) == pytest.approx(2.262, abs=1e-3)
    interval = Interval.of(2.0, 0.5, unit="kg")
    assert (interval.low, interval.high) == pytest.approx((1.02, 2.98), abs=1e-2)
    assert str(interval) == "2 [1.02, 2.98] kg"


def test_positive_quantities_stay_positive() -> None:
    interval = Interval.of(1.0, 2.0, positive=True)
    assert interval.low == 0.0
    assert interval.high == Interval.of(1.0, 2.0).high
    assert Interval.of(1.0, 0.1, positive=True) == Interval.of(1.0, 0.1)


def test_there_and_back() -> None:
    for interval in (Interval.of(1.0, 0.1, 5.0, "m", True), Interval.of(1.0, np.inf)):
        assert Interval.from_dict(json.loads(json.dumps(interval.to_dict(), allow_nan=False))) == interval
