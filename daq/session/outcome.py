"""How a session ended: the account that is printed, written into the recording and returned as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heft.daq.motion.state import State
from heft.daq.session.ledger import Account
from heft.daq.stamps import ClockFit
from heft.drivers.driver import Counters

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`state` is final; `recorded` counts samples in the file by stream; `tracking` is the worst error [rad].

    `counters` are what each device's driver saw on its line; `file` is None where the recording was deleted meanwhile.
    """

    state: State
    reason: str
    seconds: float
    accounts: tuple[Account, ...]
    counters: dict[str, Counters]
    recorded: dict[str, int]
    clock_fits: dict[str, ClockFit]
    tracking: float
    file: Path | None
    truth: Path | None = None

    @property
    def lost(self) -> int:
        """Samples lost on all streams together, on the line or on the way to the file."""
        on_the_line = sum(a.lost for a in self.accounts)
        unrecorded = sum(a.received - self.recorded.get(a.stream, 0) for a in self.accounts)
        return on_the_line + unrecorded

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "state": str(self.state),
            "reason": self.reason,
            "seconds": self.seconds,
            "lost": self.lost,
            "tracking_error": self.tracking,
            "file": None if self.file is None else str(self.file),
            "truth": None if self.truth is None else str(self.truth),
            "streams": {
                a.stream: {**a.to_dict(), "recorded": self.recorded.get(a.stream, 0)} for a in self.accounts
            },
            "devices": {name: asdict(counters) for name, counters in self.counters.items()},
            "clock_fits": {name: fit.to_dict() for name, fit in self.clock_fits.items()},
        }
