"""One run of the campaign: a fault, a seed, what must come of it and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Evidence", "Expected", "Fault", "Plant", "Trial"]


@dataclass(frozen=True)
class Expected:
    """What must come of a fault.

    codes         exit codes that are right
    says          what the user must be told, a regular expression: of a device fault, the device's name
    decides       the fault must stop the motion, and from the fault to the decision takes at most DECISION_S
    drive_failed  the drive itself failed, and may be off while its axis still moves
    killed        nobody could say goodbye: the recording must be recovered up to a second before the end
    unfinished    the recording could not be finished, and is named so
    holds         no axis has a brake: whatever happens, the drives are left on, and the arm stays where it came to rest
    moves         something moved (a run that is refused beforehand has no motion, and no recording)
    """

    codes: tuple[int, ...]
    says: str = ""
    decides: bool = False
    drive_failed: bool = False
    killed: bool = False
    unfinished: bool = False
    holds: bool = False
    moves: bool = True


@dataclass(frozen=True)
class Plant:
    """What the arm really did: host times [ns], positions [rad] and velocities [rad/s], shape (N, n).

    `start_ns` is the host time of the plant's time 0, from which faults on command count; `fault_ns` that of a fault
    that was injected while it moved.
    """

    start_ns: int
    fault_ns: int | None
    t_ns: NDArray[np.int64]
    q: NDArray[np.float64]
    v: NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """What came of a trial. `fault_ns` is the host time at which it happened, where that is one instant.

    `low` and `high` [rad], `speed` [rad/s] and `deceleration` [rad/s2] are the joints' limits, `misses` what the trial
    itself found wrong.
    """

    expected: Expected
    code: int
    out: str
    err: str
    recording: Path | None = None
    plant: Plant | None = None
    fault_ns: int | None = None
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    speed: NDArray[np.float64] | None = None
    deceleration: NDArray[np.float64] | None = None
    leftovers: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trial:
    """A seed and a folder of its own, short enough for sockets in it."""

    seed: int
    folder: Path
    rng: np.random.Generator = field(repr=False)

    @classmethod
    def of(cls, name: str, seed: int, folder: Path) -> Trial:
        """The trial of this fault and seed; all that it draws follows from both."""
        return cls(seed, folder, np.random.default_rng([seed, *name.encode()]))

    def choice(self, *options: Any) -> Any:
        """One of these, drawn."""
        return options[int(self.rng.integers(len(options)))]


@dataclass(frozen=True)
class Fault:
    """A kind of fault. `real_time`: its trials need the machine for themselves."""

    name: str
    group: str
    run: Callable[[Trial], Evidence]
    real_time: bool = False
