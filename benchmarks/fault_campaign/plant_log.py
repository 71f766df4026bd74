"""What the arm really did, from the plant itself; and faults that begin when the arm moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from fault_campaign.trial import Plant
from heft.daq.emulation.cell import EmulatedCell
from heft.daq.emulation.process import write_log
from heft.drivers.sim.world import World

__all__ = ["PlantLog"]


class PlantLog:
    """Inside, what the arm really does is written to a file at the end, be its plant here or in an emulated cell.

    `faults` are injected into the cell, `after_s` [s] after the arm has begun to move.
    """

    def __init__(self, path: Path, faults: Sequence[Mapping[str, Any]] = (), after_s: float = 0.0) -> None:
        self._path = path
        self._faults, self._after_s = faults, after_s
        self._world: World | None = None
        self._make = World.__init__
        self._enter = EmulatedCell.__aenter__

    def __enter__(self) -> Self:
        log = self

        def remember(world: World, *arguments: Any, **options: Any) -> None:
            log._make(world, *arguments, **options)
            if log._world is None:
                log._world = world

        async def enter(cell: EmulatedCell) -> EmulatedCell:
            cell.log_to = log._path
            await log._enter(cell)
            log._world = None  # was made to look at the rig's file, and never moved
            for fault in log._faults:
                cell.inject(fault, log._after_s)
            return cell

        World.__init__ = remember  # type: ignore[method-assign]
        EmulatedCell.__aenter__ = enter  # type: ignore[assignment,method-assign]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        World.__init__ = self._make  # type: ignore[method-assign]
        EmulatedCell.__aenter__ = self._enter  # type: ignore[method-assign]
        if self._world is not None:
            write_log(self._world, self._path)

    @staticmethod
    def read(path: Path) -> Plant | None:
        """As it was written; None where there was no plant."""
        if not path.exists():
            return None
        with np.load(path) as data:
            fault_ns = int(data["fault_ns"])
            return Plant(int(data["start_ns"]), fault_ns or None, data["t_ns"], data["q"], data["v"])
