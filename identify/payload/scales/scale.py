"""What tells the weight in the hand: a wrist sensor, or the joints' motors. Samples come in windows of some 10 ms.

Thresholds of both scales were tried on made-up wrenches (`tests/identify/payload/pickups`) and on random pick-ups of
the simulated rig (`benchmarks/coverage.py --rigs payload`); `docs/payload.md` tells them to users.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.kinematics.alignment import Samples

__all__ = ["Residual", "RunningMean", "Scale", "ScaleRules", "Window"]


@dataclass(frozen=True, kw_only=True)
class ScaleRules:
    """When a scale shows a load, another load, and none.

    least_windows      bare ones, before anything is unexplained
    windows_to_change  in a row that must not match the load before it has changed: a shock passes
    changed            part of the load that must be missing, or too much
    gone               part of the load: less, and it is no longer there
    sigmas             standard deviations beyond which something is not chance: windows are many
    memory             windows that the mean of the empty hand remembers: half a second
    bare_s             [s] of motion with nothing held that are kept
    """

    least_windows: int
    windows_to_change: int
    changed: float
    gone: float
    sigmas: float = 5.0
    memory: int = 50
    bare_s: float = 20.0


@dataclass(frozen=True)
class Residual:
    """What is left of a window when what is known has been taken off.

    mean         over the window, one number a channel
    force        [N] that would weigh as much
    unexplained  whether it is more than chance
    """

    mean: Array
    force: float
    unexplained: bool


@dataclass(frozen=True, eq=False)
class Window:
    """A few samples in a row.

    rows    what multiplies a load's ten numbers
    values  what the scale shows beyond what is known for sure, one column a channel
    bare    its mean beside the empty hand
    """

    samples: Samples
    rows: Array
    values: Array
    bare: Residual

    @property
    def time(self) -> float:
        """[s] of the first sample."""
        return float(self.samples.time[0])

    @property
    def end(self) -> float:
        """[s] of the last one."""
        return float(self.samples.time[-1])


class RunningMean:
    """What a scale shows with nothing in the hand, one number a channel: the mean of the last `memory` windows."""

    def __init__(self, channels: int, memory: int) -> None:
        self._memory = memory
        self.value = np.zeros(channels)
        self.count = 0  # of windows

    def add(self, left: Array) -> None:
        """A window whose mean is off by `left`."""
        self.value = self.value + left / min(self.count + 1, self._memory)
        self.count += 1


class Scale(ABC):
    """Bare windows teach it what it shows without a load; windows with a load are weighed."""

    rules: ScaleRules
    #: Whether a single window tells if the load is still there, and whether it is the one that was known before.
    precise = False

    def __init__(self, rate_hz: float) -> None:
        self.rate_hz = rate_hz  # of its samples

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether it is known what it shows with nothing in the hand."""

    @abstractmethod
    def window(self, samples: Samples, *, first: bool) -> Window:
        """A window; the `first` one of the data is taken for bare."""

    @abstractmethod
    def learn_early(self, window: Window) -> None:
        """Learn from a window that is likely to be bare, before the scale is ready."""

    @abstractmethod
    def learn(self, windows: Sequence[Window]) -> None:
        """Learn from windows in which the hand was bare."""

    def shift(self, windows: Sequence[Window]) -> bool:
        """Take windows in a row of an empty hand, all unexplained, for a new bias; whether they can be one."""
        return False

    @abstractmethod
    def grasped(self, prior: ObjectPrior | None, *, settling: bool) -> None:
        """From the next window on there is a load; `settling`: it has just come, and the arm gives way."""

    @abstractmethod
    def released(self) -> None:
        """The load is gone."""

    @abstractmethod
    def remember_posture(self, window: Window) -> None:
        """A window with the load; the first one after a pick-up has the posture that it was lifted in."""

    @abstractmethod
    def unusable(self, window: Window) -> str | None:
        """Why a window with a load cannot be weighed, if so."""

    @abstractmethod
    def weigh(self, window: Window) -> None:
        """Take in a window with the load."""

    @abstractmethod
    def estimate(self) -> PayloadEstimate | None:
        """The load so far; None before the first sample."""

    @abstractmethod
    def matches(self, window: Window, load: PayloadEstimate) -> bool:
        """Whether a window shows this load, neither less nor more, where it was."""

    @abstractmethod
    def load_gone(self, window: Window, mass: float) -> bool:
        """Whether a load of `mass` [kg] is no longer there."""
