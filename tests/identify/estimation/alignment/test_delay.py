"""A delay's file form."""

from __future__ import annotations

import json
from math import inf

from heft.identify.estimation.alignment.delay import Delay, DelayWindow


def test_a_delay_that_the_data_do_not_tell_survives_its_file() -> None:
    windows = (DelayWindow(0.0, 5.0, 0.001, inf),)
    delay = Delay("wrist.wrench", "arm.motion", 0.003, inf, -inf, inf, windows=windows)
    assert Delay.from_dict(json.loads(json.dumps(delay.to_dict(), allow_nan=False))) == delay
