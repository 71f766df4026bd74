"""What can be said while a session runs: provisional, from windows of data as they arrive.

Each window becomes a small recording and goes the way of every recording: aligned, filtered, reduced to an
information factor, which is merged with that of the windows before. Filters need data on both sides of a row, so
windows overlap by what they need. The answer at the end owes nothing to this: it is made anew from all raw Blocks.
"""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from daq.record import Writer, layout
from daq.record.codec import host_times, rows
from daq.recording.event import Event, segments
from drivers.stream import Role, Stream
from identify.errors import DataError, HeftError
from identify.recorded import IDENTIFICATION

if TYPE_CHECKING:
    from identify.consistency import Level
    from identify.dataset import Processing
    from identify.problem import Problem
    from identify.reduction import Information
    from identify.robot import Robot

__all__ = ["Progress", "Provisional", "Window"]

#: New data that make a window [ns], and how much is waited for and kept at most [ns].
WINDOW_NS = 5_000_000_000
MOST_NS = 60_000_000_000
#: A stream that lags so much behind the others has fallen silent, and no window waits for it [ns].
SILENT_NS = 2_000_000_000
#: Windows between two estimates: a rank is cheap, an estimate is a quarter of a second.
ESTIMATE_EVERY = 2


class _Part(NamedTuple):
    """Blocks one after the other, encoded, and the host times of their first and last sample [ns]."""

    first_ns: int
    last_ns: int
    joined: bytes


@dataclass(frozen=True, slots=True)
class Window:
    """Blocks of the measured streams, encoded, and the host times [ns] for identification in them, up to `end_ns`."""

    blocks: dict[str, bytes]
    streams: tuple[Stream, ...]
    stretches: tuple[tuple[int, int], ...]
    end_ns: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Where identification stands: `samples` of motion used, in `rows` of the regression; `rank` `of` base parameters.

    `estimate` are parameters by name, None where there are none yet.
    """

    samples: int = 0
    rows: int = 0
    rank: int = 0
    of: int = 0
    condition_number: float | None = None
    cutoff_hz: float | None = None
    estimate: dict[str, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


class Provisional:
    """`take` and `happened` get what arrives; `cut` gives a window when one is due; `reduce` may run in a thread.

    `robot` is called when it is first needed, there.
    """

    def __init__(self, robot: Callable[[], Robot], method: str, level: Level) -> None:
        self._load = robot
        self._method, self._level = method, level
        self._streams: dict[str, Stream] = {}
        self._waiting: dict[str, deque[_Part]] = {}
        self._events: list[Event] = []
        self._cut_ns: int | None = None
        self._processing: Processing | None = None
        self._information: Information | None = None
        self._windows = 0
        self.progress = Progress()

    def take(self, stream: Stream, joined: bytes) -> None:
        """Blocks of one stream, one after the other; those of setpoints are not needed."""
        if stream.role is not Role.MEASURED or not joined:
            return
        self._streams[stream.name] = stream
        waiting = self._waiting.setdefault(stream.name, deque())
        parts = list(rows(joined, stream))
        first_ns, last_ns = int(host_times(parts[0])[0, 0]), int(host_times(parts[-1])[-1, -1])
        waiting.append(_Part(first_ns, last_ns, joined))
        while waiting and last_ns - waiting[0].last_ns > MOST_NS:
            waiting.popleft()

    def happened(self, events: tuple[str, ...]) -> None:
        """Events as JSON texts, in order."""
        self._events += [Event.from_json(text.encode()) for text in events]

    def cut(self) -> Window | None:
        """The next window, None while there is too little for one."""
        waiting = [found for found in self._waiting.values() if found]
        if not waiting:
            return None
        newest_ns = max(found[-1].last_ns for found in waiting)
        end_ns = min(found[-1].last_ns for found in waiting if newest_ns - found[-1].last_ns < SILENT_NS)
        start_ns = max(found[0].first_ns for found in waiting)
        if self._cut_ns is None:
            self._cut_ns = start_ns
        stretches = tuple(
            (max(start_ns, s.start_ns), min(end_ns, s.end_ns))
            for s in segments(self._events, end_ns)
            if s.use == IDENTIFICATION and s.start_ns < end_ns and s.end_ns > self._cut_ns
        )
        if end_ns - self._cut_ns < WINDOW_NS or not stretches:
            return None
        self._cut_ns = end_ns
        blocks = {
            name: b"".join(part.joined for part in found if part.last_ns <= end_ns)
            for name, found in self._waiting.items()
        }
        return Window(blocks, tuple(self._streams.values()), stretches, end_ns)

    def reduce(self, window: Window) -> int:
        """Add a window's information to `progress`; the host time [ns] from which on data are needed again."""
        from identify.dataset import Dataset, Processing, choose_cutoff
        from identify.reduction import reduce

        robot = self._robot
        with tempfile.TemporaryDirectory(prefix="heft-") as folder:
            path = _record(window, Path(folder) / "window.mcap")
            try:
                data = Dataset.from_recording(path, robot, IDENTIFICATION)
                processing = self._processing or Processing(cutoff_hz=choose_cutoff(data))
                information = reduce(robot, data, processing)
            except DataError:  # too short yet, or the robot does not move
                return window.end_ns - MOST_NS
        self._processing = processing
        before = self._information
        self._information = information if before is None else before.merge(information)
        self._windows += 1
        rate_hz = float(1 / np.median(np.diff(data.t)))
        margin = processing.differentiator(rate_hz).half + len(processing.taps(rate_hz)) // 2
        samples = self.progress.samples + len(data) - 2 * margin
        self.progress = self._judge(self._information, processing, samples)
        return window.end_ns - int(2e9 * margin / rate_hz)

    def forget(self, start_ns: int) -> None:
        """Data before that host time are not needed any more."""
        for waiting in self._waiting.values():
            while waiting and waiting[0].last_ns < start_ns:
                waiting.popleft()

    @cached_property
    def _robot(self) -> Robot:
        return self._load()

    def _judge(self, information: Information, processing: Processing, samples: int) -> Progress:
        """Rank and condition number of the information so far, and now and then an estimate."""
        from identify.estimators import estimate
        from identify.estimators.least_squares import covariance

        problem = self._problem(information)
        ones = np.ones(problem.joints)
        factor, _, _ = problem.stacked(ones)
        condition = problem.base.condition_number(factor)
        values = self.progress.estimate
        if self._windows % ESTIMATE_EVERY == 1:
            try:
                answer = estimate(problem, self._method)
                values = dict(zip(problem.layout.names, answer.parameters.tolist(), strict=True))
            except HeftError:  # not enough data yet for this method
                values = None
        return Progress(
            samples=samples,
            rows=int(information.rows.max()),
            rank=covariance(problem, ones, information)[0],
            of=len(problem.base.names),
            condition_number=condition if np.isfinite(condition) else None,
            cutoff_hz=processing.cutoff_hz,
            estimate=values,
        )

    def _problem(self, information: Information) -> Problem:
        from identify.base import base_parameters
        from identify.parameters import Layout
        from identify.problem import Bounds, Problem

        return Problem(
            information=information,
            base=base_parameters(self._robot),
            layout=Layout(self._robot.parameter_names),
            level=self._level,
            prior=self._robot.prior,
            boxes=self._robot.boxes,
            bounds=Bounds(total_mass=self._robot.total_mass),
            spread=self._robot.spread,
        )


def _record(window: Window, path: Path) -> Path:
    """The window as a recording of its own."""
    with path.open("xb", buffering=0) as raw:
        writer = Writer(raw, 0)
        for stream in window.streams:
            writer.describe(stream)
            writer.encoded(stream, window.blocks[stream.name])
        for stretch in window.stretches:
            for name, t_ns in zip((layout.SEGMENT_START, layout.SEGMENT_END), stretch, strict=True):
                facts = {"t_ns": t_ns, "name": name, "segment": "", "use": IDENTIFICATION}
                writer.event(t_ns, json.dumps(facts))
        writer.finish()
    return path
