"""How rows of a stream come together from what several axes say."""

from __future__ import annotations

from abc import ABC, abstractmethod

from heft.drivers.driver import Counters
from heft.drivers.stream import Column, Stream

__all__ = ["RowAssembler", "age_columns"]


class RowAssembler(ABC):
    """Takes numbers of single axes and yields blocks of whole rows."""

    @abstractmethod
    def count_in(self, counters: Counters) -> None:
        """From now on, what is lost, late or doubled is counted there."""

    @property
    @abstractmethod
    def streams(self) -> tuple[Stream, ...]:
        """What comes out; the first one is what `received` and `lost` are counted by."""

    @property
    @abstractmethod
    def number(self) -> int:
        """Sequence number of the next row."""

    @property
    def missing(self) -> int:
        """Frames that have been asked for and have not come, as bits."""
        return 0

    @abstractmethod
    def skip(self, rows: int) -> None:
        """Forget what is under way; the next row has a number so much higher."""

    def leave_out(self, rows: int) -> None:  # noqa: B027 - rows that axes send by themselves come all the same
        """So many rows were not asked for: the next one has a number so much higher."""

    @abstractmethod
    def restart(self, since_ns: int) -> None:
        """Forget what is there, and what was received before this host time [ns]."""

    @abstractmethod
    def flush(self) -> None:
        """Yield the rows that are complete."""


def age_columns(axes: tuple[str, ...]) -> tuple[Column, ...]:
    """How much earlier than its row's stamp each axis was heard [s], for axes that do not sample together."""
    return tuple(Column(axis, "age", "s", 1e-6, raw_unit="us") for axis in axes)
