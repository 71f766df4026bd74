"""Where a session stands: for the terminal view and any other observer of the bus."""

from __future__ import annotations

from typing import Any

from heft.daq.motion.plan import Leg
from heft.daq.motion.player import Player
from heft.daq.motion.state import State
from heft.daq.session.ledger import Ledger

__all__ = ["Progress"]


class Progress:
    """Follows the plan leg by leg."""

    def __init__(self) -> None:
        self._plan: tuple[Leg, ...] = ()
        self._leg = -1
        self._leg_start_ns = 0
        self._paused_ns: int | None = None

    def begin(self, plan: tuple[Leg, ...]) -> None:
        """The plan is known."""
        self._plan = plan

    def next_leg(self, now_ns: int) -> None:
        """The next leg begins."""
        self._leg += 1
        self._leg_start_ns = now_ns

    def pause(self, now_ns: int) -> None:
        """From now on nothing goes on."""
        self._paused_ns = now_ns

    def resume(self, now_ns: int) -> None:
        """The time since the pause does not count."""
        if self._paused_ns is not None:
            self._leg_start_ns += now_ns - self._paused_ns
            self._paused_ns = None

    def snapshot(self, now_ns: int, state: State, ledger: Ledger, tracking: float) -> dict[str, Any]:
        """As plain JSON values: state, step, seconds done and to go, streams, worst tracking error [rad]."""
        done = sum(_seconds(leg) for leg in self._plan[: max(self._leg, 0)])
        if 0 <= self._leg < len(self._plan):
            until_ns = now_ns if self._paused_ns is None else self._paused_ns
            done += min((until_ns - self._leg_start_ns) * 1e-9, _seconds(self._plan[self._leg]))
        total = sum(_seconds(leg) for leg in self._plan)
        return {
            "t_ns": now_ns,
            "state": str(state),
            "step": self._step_name(),
            "seconds_done": done,
            "seconds_total": total,
            "tracking_error": tracking,
            "streams": {
                a.stream: {"rate_hz": a.rate_hz, "received": a.received, "lost": a.lost}
                for a in ledger.accounts
            },
        }

    def _step_name(self) -> str:
        if not 0 <= self._leg < len(self._plan):
            return ""
        step = self._plan[self._leg].step
        return "moving to start" if step is None else step.name


def _seconds(leg: Leg) -> float:
    return leg.seconds + (Player.LEAD_NS * 1e-9 if leg.trajectory is not None else 0.0)
