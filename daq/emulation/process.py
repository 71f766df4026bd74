"""The process of an emulated cell: `python -m heft.daq.emulation.process`, as `EmulatedCell` starts it.

What to be comes on standard input: a line with the rig's configuration and the seed, then a JSON object per line of
what is wanted. Answers go to standard output, one JSON object per line; whatever else is printed, to standard error.
When standard input ends, who started it has gone, and so does it, at once.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import logging
import os
import pickle
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from pydantic import TypeAdapter

from heft.daq.clock import RealClock
from heft.daq.config.rig import RigConfig
from heft.daq.emulation.plant import emulators_of, plant_of
from heft.daq.priority import as_a_device
from heft.drivers.emulators.wires.wire_faults import WireFault
from heft.drivers.errors import HeftError
from heft.drivers.sim.world import World

__all__ = ["main", "order_of", "write_log"]

_LOG_S, _LOG_STEP_S = 15.0, 0.002  # of the plant's motion: how much of it a log holds, and how finely
_MOVES = 0.05  # [rad/s] or [m/s]; what an arm at rest does not


def order_of(config: RigConfig, seed: int) -> bytes:
    """The first line: which cell to be. (What the emulated devices do not need, as a broker's password, stays here.)"""
    lean = config.model_copy(update={"mqtt": None})
    return base64.b64encode(pickle.dumps((lean, seed))) + b"\n"


class _Cell:
    """The plant at work, and what may be asked of it.

    answer   sends a JSON object to whoever started it
    """

    def __init__(self, world: World, answer: Callable[[Mapping[str, Any]], None]) -> None:
        self._world, self._answer = world, answer
        self._adapter: TypeAdapter[Any] = TypeAdapter(WireFault)
        self._fault_ns = 0
        self.ended = asyncio.Event()

    def do(self, wanted: Mapping[str, Any]) -> None:
        """What a line of standard input asks for."""
        match wanted["do"]:
            case "inject":
                self._inject(wanted["fault"], wanted.get("after_motion_s"))
            case "log":
                try:
                    write_log(self._world, Path(wanted["path"]), self._fault_ns)
                except OSError as exc:
                    self._answer(
                        {"error": f"{wanted['path']}: the log cannot be written: {exc.strerror or exc}"}
                    )
                else:
                    self._answer({"logged": wanted["path"]})
            case "end":
                self._answer({"truth": self._world.truth()})
                self.ended.set()

    def _inject(self, facts: Mapping[str, Any], after_motion_s: float | None) -> None:
        """A fault, or one that begins so long [s] after the arm has begun to move."""
        world = self._world
        if after_motion_s is None:
            fault = self._adapter.validate_python(facts)
            self._fault_ns = world.nanoseconds(fault.at_s)
            world.inject(fault)
            return
        if np.abs(world.present()[1]).max() > _MOVES:
            self._inject({**facts, "at_s": world.now() + after_motion_s}, None)
            return
        look = world.now() + _LOG_STEP_S
        world.schedule(look, lambda: self._inject(facts, after_motion_s))


def write_log(world: World, path: Path, fault_ns: int = 0) -> None:
    """What the arm did in its last seconds, as NPZ: host times [ns], positions and velocities of the motors, (N, n).

    `fault_ns` is the host time of a fault that was injected (0: none).
    """
    end = world.now()
    t = np.arange(max(0.0, end - _LOG_S), end, _LOG_STEP_S)
    state = world.motor(t)
    t_ns = world.start_ns + np.round(t * 1e9).astype(np.int64)
    np.savez(path, start_ns=world.start_ns, fault_ns=fault_ns, t_ns=t_ns, q=state.q, v=state.v)


async def _serve(config: RigConfig, seed: int, orders: IO[bytes], answers: IO[str]) -> None:
    """Be the devices until told to end."""

    def answer(facts: Mapping[str, Any]) -> None:
        with suppress(BrokenPipeError):  # who started it is about to be missed
            answers.write(json.dumps(facts) + "\n")
            answers.flush()

    world = plant_of(config, RealClock(), seed)
    assert world is not None
    cell = _Cell(world, answer)
    async with AsyncExitStack() as stack:
        endpoints = {}
        for emulator in emulators_of(config, world):
            await stack.enter_async_context(emulator)
            endpoints[emulator.name] = dict(emulator.endpoint)
        gc.collect()
        gc.freeze()  # what is loaded stays: looking through it again would stall the devices for a tenth of a second
        as_a_device()
        answer({"endpoints": endpoints, "start_ns": world.start_ns})
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), orders)
        listening = asyncio.create_task(_listen(reader, cell), name="orders")
        ended = asyncio.create_task(cell.ended.wait(), name="end")
        try:
            await asyncio.wait({listening, ended}, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():  # by what it was told: nobody would hear the end any more
                await listening
        finally:
            listening.cancel()
            ended.cancel()


async def _listen(reader: asyncio.StreamReader, cell: _Cell) -> None:
    while line := await reader.readline():
        cell.do(json.loads(line))
    os._exit(0)  # who started it has gone; what devices are there for then does not matter


def main() -> int:
    """Be the emulated cell that standard input describes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # who started it ends it, in the order of a stop
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    orders = os.fdopen(os.dup(0), "rb", buffering=0)
    first = orders.readline()
    if not first:
        return 0
    config, seed = pickle.loads(base64.b64decode(first))
    try:
        asyncio.run(_serve(config, seed, orders, answers))
    except HeftError as exc:
        with suppress(BrokenPipeError):
            answers.write(json.dumps({"error": str(exc)}) + "\n")
            answers.flush()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
