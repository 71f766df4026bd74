"""A motion of two joints that a pendulum-like arm could make, and files of it by other people's writers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.importing.guessing.guess import guess
from heft.daq.importing.import_map import ImportMap, merged
from heft.daq.importing.open_file import open_file
from heft.daq.importing.write import Imported, write_recording
from heft.daq.recording import Recording


@dataclass(frozen=True)
class Motion:
    """Times [s] (N,), positions [rad], velocities [rad/s] and torques [N m] (N, 2)."""

    t: Any
    q: Any
    dq: Any
    tau: Any


@pytest.fixture(scope="session")
def motion() -> Motion:
    rng = np.random.default_rng(3)
    t = np.arange(1500) / 100.0
    w, a, p = np.array([2.1, 3.3]), np.array([0.8, 0.6]), np.array([0.3, 1.1])
    q = a * np.sin(w * t[:, None] + p)
    dq = a * w * np.cos(w * t[:, None] + p)
    tau = 9.81 * np.cos(q) + 0.4 * np.sign(dq) - a * w**2 * np.sin(w * t[:, None] + p)
    return Motion(t, q, dq, tau + 0.02 * rng.standard_normal(q.shape))


@dataclass(frozen=True)
class Import:
    """A recording that was made, the map that was used, and what was said."""

    recording: Recording
    map: dict[str, Any]
    done: Imported
    columns: dict[str, str]

    def signal(self, quantity: str, stream: str = "arm.joint_states") -> Any:
        """SI values (N, n)."""
        return self.recording.columns(stream).quantity(quantity)


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., Import]:
    """Import files by the guessed map, with changes."""

    def run(*paths: Path, changes: dict[str, Any] | None = None, **options: Any) -> Import:
        sources = [open_file(path) for path in paths]
        first = sources[0]
        found = guess(first.tables, comments=first.comments, named=getattr(first, "named", True))
        data = merged(found.map, changes or {})
        into = tmp_path / "imported.mcap"
        done = write_recording(into, sources, ImportMap.of(data), replace=True, **options)
        reasons = {one.column: one.meaning for one in found.columns}
        return Import(Recording.open(into), data, done, reasons)

    return run
