"""What the arm really did, from the plant itself; and faults that begin when the arm moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from pydantic import TypeAdapter

from fault_campaign.trial import Plant
from heft.drivers.emulators.wires.wire_faults import WireFault
from heft.drivers.sim.world import World

__all__ = ["PlantLog", "inject_when_moving", "write"]

_STEP_S = 0.002
_KEPT_S = 15.0  # of the plant's own memory
_MOVES = 0.05  # [rad/s]


class PlantLog:
    """Inside, the first plant that is made is remembered; at the end its last seconds are written to a file.

    `faults` are injected into it `after_s` [s] after the arm has begun to move.
    """

    def __init__(self, path: Path, faults: Sequence[Mapping[str, Any]] = (), after_s: float = 0.0) -> None:
        self._path = path
        self._faults, self._after_s = faults, after_s
        self._world: World | None = None
        self._make = World.__init__

    def __enter__(self) -> Self:
        log, make = self, self._make

        def remember(world: World, *arguments: Any, **options: Any) -> None:
            make(world, *arguments, **options)
            if log._world is None:
                log._world = world
                inject_when_moving(world, log._faults, log._after_s)

        World.__init__ = remember  # type: ignore[method-assign]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        World.__init__ = self._make  # type: ignore[method-assign]
        if self._world is not None:
            write(self._path, self._world)

    @staticmethod
    def read(path: Path) -> Plant | None:
        """As it was written; None where there was no plant."""
        if not path.exists():
            return None
        with np.load(path) as data:
            fault_ns = int(data["fault_ns"])
            return Plant(int(data["start_ns"]), fault_ns or None, data["t_ns"], data["q"], data["v"])


def write(path: Path, world: World) -> None:
    """The last seconds of a plant."""
    end = world.seconds(world.clock.now_ns())
    t = np.arange(max(0.0, end - _KEPT_S), world.now(), _STEP_S)
    state = world.motor(t)
    t_ns = world.start_ns + np.round(t * 1e9).astype(np.int64)
    fault_ns = getattr(world, "fault_ns", 0)
    np.savez(path, start_ns=world.start_ns, fault_ns=fault_ns, t_ns=t_ns, q=state.q, v=state.v)


def inject_when_moving(world: Any, faults: Sequence[Mapping[str, Any]], after_s: float) -> None:
    """Inject faults into a plant `after_s` [s] after its arm has begun to move; `world.fault_ns` says when."""
    if not faults:
        return
    adapter: TypeAdapter[Any] = TypeAdapter(WireFault)
    advance = world.advance

    def watch(t_ns: int) -> None:
        advance(t_ns)
        if np.abs(world.present()[1]).max() > _MOVES:
            world.advance = advance
            at_s = world.seconds(t_ns) + after_s
            world.fault_ns = world.nanoseconds(at_s)
            for fault in faults:
                world.inject(adapter.validate_python({"at_s": at_s, **fault}))

    world.advance = watch
