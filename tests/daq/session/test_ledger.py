"""The account: gaps, and streams that are slower than they say."""

from __future__ import annotations

import numpy as np
import pytest

from heft.daq.session.ledger import Ledger
from heft.drivers.block import Block
from heft.drivers.errors import DeviceFault
from heft.drivers.stream import Column, Stream

STREAM = Stream("wrist.wrench", (Column("fx", "force", "N"),), 1000.0)


def feed(ledger: Ledger, rate_hz: float, seconds: float, *, step: int = 1) -> None:
    """Samples at a rate, whose numbers go on by `step`, and a look at the rates every 0.2 s."""
    n = round(rate_hz * seconds)
    for i in range(n):
        t_ns = np.array([round(i / rate_hz * 1e9)], dtype=np.int64)
        ledger.enter(Block(STREAM, step * i, t_ns, np.zeros((1, 1)), np.zeros((1, 1), np.uint8)))
        if i % round(0.2 * rate_hz) == 0:
            ledger.check_rates()


def test_a_stream_at_a_tenth_of_its_rate_is_told() -> None:
    ledger = Ledger()
    ledger.expect(STREAM)
    with pytest.raises(
        DeviceFault, match=r"wrist: wrist.wrench comes at 100(\.\d+)? Hz, stated 1000 Hz \(bound 500 Hz\)"
    ):
        feed(ledger, 100.0, 4.0)


@pytest.mark.parametrize(("rate_hz", "step"), [(1000.0, 1), (900.0, 1), (100.0, 10)])
def test_a_stream_that_loses_samples_is_not_slow(rate_hz: float, step: int) -> None:
    """Numbers with gaps are losses, and counted as such."""
    ledger = Ledger()
    ledger.expect(STREAM)
    feed(ledger, rate_hz, 3.0, step=step)
    (account,) = ledger.accounts
    assert account.lost == (step - 1) * (account.received - 1)
