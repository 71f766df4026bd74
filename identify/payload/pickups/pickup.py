"""One pick-up: when it began, how it ended, and what was held."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from heft.identify.payload.estimation.estimate import PayloadEstimate

__all__ = ["End", "Estimated", "Pickup"]


class End(StrEnum):
    """How a pick-up ended."""

    RELEASED = "released"
    DROPPED = "dropped"  # the weight went while the fingers held
    SLIPPED = "slipped"  # it moved between the fingers
    NOTHING = "nothing"  # there never was a weight
    UNFINISHED = "unfinished"  # the data end


@dataclass(frozen=True)
class Estimated:
    """An estimate in the scale's frame; `time` [s] of its last sample, host's clock."""

    time: float
    estimate: PayloadEstimate


@dataclass
class Pickup:
    """One pick-up; times [s] on the host's clock. It grows while the object is held."""

    number: int
    t_signal: float
    source: str  # the gripper's stream, where it tells of it; else who does
    target: str | None = None
    t_pick: float | None = None  # when the weight came
    t_first: float | None = None  # of the first estimate's last sample
    t_end: float | None = None
    t_bare: float | None = None  # when the hand was empty again
    end: End | None = None
    latest: Estimated | None = None
    by_joints: PayloadEstimate | None = None  # the same load from joint torques, flange's frame
    estimates: list[Estimated] = field(default_factory=list)
    repeated: int = 0  # signals that told of it again
    notes: list[str] = field(default_factory=list)

    @property
    def last_time(self) -> float:
        """[s] of the latest estimate, or of the signal if there is none."""
        return self.t_signal if self.latest is None else self.latest.time

    @property
    def mass(self) -> float:
        """[kg] as far as known; zero before the first estimate."""
        return 0.0 if self.latest is None else self.latest.estimate.mass
