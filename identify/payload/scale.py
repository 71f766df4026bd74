"""What tells the weight in the hand: a wrist sensor, or the joints' motors. Samples come in windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from identify.arrays import Array
from identify.payload.align import Samples
from identify.payload.estimate import PayloadEstimate
from identify.payload.prior import ObjectPrior

__all__ = ["Rest", "Scale", "Window"]


@dataclass(frozen=True)
class Rest:
    """What is left of a window when what is known has been taken off.

    left     mean over the window, one number a channel
    force    [N] that would weigh as much
    strange  whether it is more than chance
    """

    left: Array
    force: float
    strange: bool


@dataclass(frozen=True, eq=False)
class Window:
    """A few samples in a row.

    rows   what multiplies a load's ten numbers
    rest   what the scale shows beyond what is known for sure, one column a channel
    bare   its mean beside the empty hand
    """

    samples: Samples
    rows: Array
    rest: Array
    bare: Rest

    @property
    def time(self) -> float:
        """[s] of the first sample."""
        return float(self.samples.time[0])

    @property
    def end(self) -> float:
        """[s] of the last one."""
        return float(self.samples.time[-1])


class Scale(ABC):
    """Bare windows teach it what it shows without a load; windows with a load are weighed."""

    #: Windows in a row that must not belong to the load before it has changed: a shock passes.
    suspects: int
    #: Whether a single window tells if the load is still there, and whether it is the one that was known before.
    sharp = False

    def __init__(self, rate_hz: float) -> None:
        self.rate_hz = rate_hz  # of its samples

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether it is known what it shows with nothing in the hand."""

    @abstractmethod
    def look(self, samples: Samples, *, begin: bool) -> Window:
        """A window; at the `begin` of the data it is taken for bare."""

    @abstractmethod
    def meet(self, window: Window) -> None:
        """A window that is likely to be bare, before the scale is ready."""

    @abstractmethod
    def learn(self, windows: Sequence[Window]) -> None:
        """Windows in which the hand was bare."""

    def moved(self, windows: Sequence[Window]) -> bool:
        """Windows in a row of an empty hand that do not look like it: whether what it shows has moved."""
        return False

    @abstractmethod
    def grasped(self, prior: ObjectPrior | None, *, settling: bool) -> None:
        """From the next window on there is a load; `settling`: it has just come, and the arm gives way."""

    @abstractmethod
    def released(self) -> None:
        """The load is gone."""

    @abstractmethod
    def hold(self, window: Window) -> None:
        """The first window with the load."""

    @abstractmethod
    def unsure(self, window: Window) -> str | None:
        """Why a window with a load cannot be weighed, if so."""

    @abstractmethod
    def weigh(self, window: Window) -> None:
        """A window with the load."""

    @abstractmethod
    def estimate(self) -> PayloadEstimate | None:
        """The load so far; None before the first sample."""

    @abstractmethod
    def belongs(self, window: Window, load: PayloadEstimate) -> bool:
        """Whether a window shows this load, neither less nor more, where it was."""

    @abstractmethod
    def light(self, window: Window, mass: float) -> bool:
        """Whether a load of `mass` [kg] is no longer there."""
