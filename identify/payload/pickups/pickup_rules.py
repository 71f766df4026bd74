"""When a pick-up begins, settles, changes and ends: times about the gripper's signals, and shares of the load."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PICKUP_RULES", "PickupRules"]


@dataclass(frozen=True)
class PickupRules:
    """Times [s], and shares of the load's mass.

    Tuned on the simulated rig with pick-ups of 0.3 to 3 kg (`benchmarks/coverage.py --rigs payload`) and on
    made-up wrenches of sensors of 0.1 to 7 kHz (`tests/identify/payload/pickups`); `docs/payload.md` tells them to
    users.

    window_s        samples that are judged by their mean
    fresh_s         after the pick-up the estimate begins once more, without the arm's first sag
    sag_mass        standard deviation that is added before: the arm gives way faster than its filtered motion shows
    sag_com         [m] the same of the centre of mass
    steady_s        after the pick-up: until then a load that changes is still being lifted
    apart_s         between gripper's signal and weight at most, unless the object still lies on a table
    guard_s         before what the gripper tells, not weighed: it samples, so it tells a little late
    flicker_s       a gripper that says `open` and carries the weight on for so long has not let go
    late            periods of the gripper by which a weight may go before it tells: samples come a little unevenly
    shifted_s       of windows that look alike: an empty hand that shows something new has a new bias
    changed         by which the latest estimate has left the most certain one, ...
    changed_sigmas  ... and by so many of its standard deviations: then the load went bit by bit
    bare_guard_s    before the gripper closes or opens, not used to learn the hand
    opened_s        after it closed or opened, likewise
    kept            pick-ups that are over and still remembered
    """

    window_s: float = 0.01
    fresh_s: float = 0.10
    sag_mass: float = 0.03
    sag_com: float = 0.02
    steady_s: float = 0.4
    apart_s: float = 0.3
    guard_s: float = 0.06
    flicker_s: float = 0.25
    late: float = 1.5
    shifted_s: float = 0.2
    changed: float = 0.03
    changed_sigmas: float = 4.0
    bare_guard_s: float = 0.05
    opened_s: float = 0.5
    kept: int = 3

    @property
    def settle_s(self) -> float:
        """After the signal fingers and arm give way: a window of which half is older is not weighed."""
        return self.window_s / 2


PICKUP_RULES = PickupRules()
