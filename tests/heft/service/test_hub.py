"""The hub: what it says of the clock of what is shown."""

from __future__ import annotations

import pytest

from heft.service.web.hub import Pace


@pytest.mark.parametrize(
    ("speed", "behind_s", "real"),
    [(1.0, 0.05, True), (0.5, 0.0, False), (5.0, 0.0, False), (1.0, 3600.0, False)],
)
def test_a_delay_is_known_only_where_time_passes_as_it_does_here(
    speed: float, behind_s: float, real: bool
) -> None:
    """A session that is slowed, and a replay of an hour ago, have no delay from sample to picture."""
    pace = Pace()
    assert not pace.real
    for k in range(400):
        pace.heard(10**12 + k * 10_000_000, 10**12 + round(speed * k * 10_000_000 - behind_s * 1e9))
    assert pace.real is real


def test_a_session_after_standing_by_at_another_speed() -> None:
    pace = Pace()
    for k in range(500):
        pace.heard(k * 10_000_000, k * 10_000_000)
    for k in range(500):
        pace.heard((500 + k) * 10_000_000, (500 + k // 2) * 10_000_000)
    assert not pace.real
