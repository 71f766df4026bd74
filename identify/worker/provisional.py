"""What can be said while a session runs: provisional, from windows of the recording as far as it is here.

Each window is a part of the growing recording and goes the way of every recording: aligned, filtered, reduced to an
information factor, which is merged with that of the windows before. What is old is forgotten with a time constant
(`heft.identify.information.memory`), so that a change of the arm is seen while it runs. Filters need data on both sides
of a row, so windows overlap by what they need. The answer at the end owes nothing to this: it is made anew from the
whole recording.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from heft.drivers.stream import Role
from heft.identify.data.from_recording import IDENTIFICATION
from heft.identify.errors import DataError, HeftError
from heft.identify.information.memory import checked_memory, remembered

if TYPE_CHECKING:
    from heft.daq.recording import Recording
    from heft.daq.recording.growing import GrowingRecording
    from heft.identify.bodies.arrays import Array
    from heft.identify.bodies.consistency import Level
    from heft.identify.data import Processing
    from heft.identify.estimation.problem import Problem
    from heft.identify.information.reduction import Information
    from heft.identify.robot import Robot

__all__ = ["Progress", "Provisional"]

#: New data that make a window [ns], and the longest window [ns].
WINDOW_NS = 5_000_000_000
MOST_NS = 60_000_000_000
#: A stream that lags so much behind the others has fallen silent, and no window waits for it [ns].
SILENT_NS = 2_000_000_000
#: Time constant of forgetting [s]: several windows, and a few periods of a usual excitation.
MEMORY_S = 30.0
#: Windows between two estimates: a rank is cheap, an estimate is a quarter of a second.
ESTIMATE_EVERY = 2


@dataclass(frozen=True, slots=True)
class Progress:
    """Where identification stands: `samples` of motion used; `rank` `of` base parameters.

    `rows` of the regression are counted by how much of them is remembered, with time constant `memory_s` [s].
    `estimate` are parameters by name, None where there are none yet; `base` base parameters with their standard
    deviations (None: the motion has not told it), `total_mass` that of all links [kg].
    """

    samples: int = 0
    rows: int = 0
    rank: int = 0
    of: int = 0
    condition_number: float | None = None
    cutoff_hz: float | None = None
    memory_s: float | None = None
    estimate: dict[str, float] | None = None
    base: dict[str, tuple[float, float | None]] | None = None
    total_mass: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


class Provisional:
    """Looks at a recording that grows; `progress` may be read from any thread, `look` is for one at a time.

    `robot` is called when it is first needed. `memory_s` is the time constant of forgetting [s]; inf: nothing is.
    """

    def __init__(
        self,
        growing: GrowingRecording,
        robot: Callable[[], Robot],
        method: str,
        level: Level,
        memory_s: float = MEMORY_S,
    ) -> None:
        self._growing = growing
        self._load = robot
        self._method, self._level = method, level
        self._memory_s = checked_memory(memory_s)
        self._reduced_ns = 0  # when the information was all that is remembered
        self._done_ns: int | None = None  # end of the last window, host time
        self._needed_ns = 0  # from here on data are needed for the next one
        self._processing: Processing | None = None
        self._information: Information | None = None
        self._measuring: Robot | None = None  # the robot with rows for what the recording measures
        self._windows = 0
        self.progress = Progress()

    def look(self) -> bool:
        """Read on; where that completes a window, add its information to `progress`. Whether it did."""
        if not self._growing.advance():
            return False
        window = self._window(self._growing.recording)
        if window is None:
            return False
        self._reduce(*window)
        return True

    def _window(self, recording: Recording) -> tuple[Recording, int] | None:
        """The next part of the recording and its end [ns], None while there is too little for one."""
        spans = [
            span
            for name, span in self._growing.spans_ns.items()
            if recording.streams[name].role is Role.MEASURED
        ]
        if not spans:
            return None
        newest_ns = max(last_ns for _, last_ns in spans)
        end_ns = min(last_ns for _, last_ns in spans if newest_ns - last_ns < SILENT_NS)
        if self._done_ns is None:
            self._done_ns = self._needed_ns = max(first_ns for first_ns, _ in spans)
        done_ns = self._done_ns
        starts_ns = [
            segment.start_ns
            for segment in recording.segments
            if segment.use == IDENTIFICATION and segment.start_ns < end_ns and segment.end_ns > done_ns
        ]
        if end_ns - done_ns < WINDOW_NS or not starts_ns:
            return None
        self._done_ns = end_ns
        return recording.part(max(self._needed_ns, end_ns - MOST_NS, starts_ns[0]), end_ns), end_ns

    def _reduce(self, window: Recording, end_ns: int) -> None:
        """Add a window's information to `progress`."""
        from heft.identify.data import Dataset, Processing, choose_cutoff
        from heft.identify.data.measured_rows import sources_of
        from heft.identify.information.reduction import reduce

        try:
            data = Dataset.from_recording(window, self._robot, IDENTIFICATION)
            if self._measuring is None:
                sources = sources_of(self._robot, [data])
                self._measuring = self._robot if sources is None else self._robot.measuring(sources)
            robot = self._measuring
            processing = self._processing or Processing(cutoff_hz=choose_cutoff(data))
            information = reduce(robot, data, processing, memory_s=self._memory_s)
        except DataError:  # too short yet, or the robot does not move
            return
        self._processing = processing
        if self._information is not None:
            since_s = np.array((end_ns - self._reduced_ns) * 1e-9)
            faded = self._information.faded(float(remembered(since_s, self._memory_s)))
            information = faded.merge(information)
        self._information, self._reduced_ns = information, end_ns
        self._windows += 1
        rate_hz = float(1 / np.median(np.diff(data.t)))
        margin = processing.differentiator(rate_hz).half + len(processing.taps(rate_hz)) // 2
        samples = self.progress.samples + len(data) - 2 * margin
        self.progress = self._judge(self._information, processing, samples)
        self._needed_ns = end_ns - int(2e9 * margin / rate_hz)

    @cached_property
    def _robot(self) -> Robot:
        return self._load()

    def _judge(self, information: Information, processing: Processing, samples: int) -> Progress:
        """Rank and condition number of the information so far, and now and then an estimate."""
        from heft.identify.estimation.estimators import estimate
        from heft.identify.estimation.least_squares import covariance, weights_of
        from heft.identify.estimation.problem import Problem

        assert self._measuring is not None
        problem = Problem.of(self._measuring, information, level=self._level)
        ones = np.ones(problem.joints)
        factor, _, _ = problem.stacked(ones)
        condition = problem.base.condition_number(factor)
        values, base, mass = self.progress.estimate, self.progress.base, self.progress.total_mass
        if self._windows % ESTIMATE_EVERY == 1:
            try:
                answer = estimate(problem, self._method)
                values = dict(zip(problem.layout.names, answer.parameters.tolist(), strict=True))
                _, spread, _ = covariance(problem, weights_of(problem), information)
                base = _base(problem, answer.parameters, np.sqrt(np.diag(spread)))
                mass = sum(value for name, value in values.items() if name.endswith(".m"))
            except HeftError:  # not enough data yet for this method
                values = base = mass = None
        return Progress(
            samples=samples,
            rows=int(information.rows.max()),
            rank=covariance(problem, ones, information)[0],
            of=len(problem.base.names),
            condition_number=condition if np.isfinite(condition) else None,
            cutoff_hz=processing.cutoff_hz,
            memory_s=self._memory_s if np.isfinite(self._memory_s) else None,
            estimate=values,
            base=base,
            total_mass=mass,
        )


def _base(problem: Problem, parameters: Array, std: Array) -> dict[str, tuple[float, float | None]]:
    """Values and standard deviations of the base parameters by name."""
    found = problem.base.matrix @ parameters
    return {
        name: (float(value), float(deviation) if np.isfinite(deviation) else None)
        for name, value, deviation in zip(problem.base.names, found, std, strict=True)
    }
