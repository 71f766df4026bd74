"""A designed trajectory's file: what `heft design` writes beside a session, and `design:` of a step names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from heft.daq.config.reader import Label, Model, read
from heft.daq.config.shipped import locate
from heft.daq.errors import ConfigError
from heft.daq.trajectory.chain import chain_motion
from heft.daq.trajectory.fourier import FourierSeries, fourier_motion
from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.trajectory import Motion

__all__ = ["DesignFile", "load_design"]

Table = tuple[tuple[float, ...], ...]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
MOST_POSES = 1000


class SeriesConfig(Model):
    """Periods of a Fourier series (003, Eq. 78) that begins and ends at rest: `a`, `b` [rad/s], `q0` [rad]."""

    period_s: Seconds
    periods: Annotated[int, Field(ge=1, le=10_000)] = 1
    a: Table
    b: Table
    q0: tuple[float, ...]


class ChainConfig(Model):
    """Minimum-jerk moves from pose to pose [rad], at each of which the arm rests for `rest_s`."""

    poses: Annotated[Table, Field(min_length=2, max_length=MOST_POSES)]
    fraction: Annotated[float, Field(gt=0, le=1)] = 0.8
    rest_s: Annotated[float, Field(ge=0, le=3600)] = 0.0


class DesignFile(Model):
    """A trajectory of `joints`, in this order: one of `fourier` and `chain`. `made`: by what, and what to expect."""

    path: Path
    robot: Label
    joints: tuple[str, ...]
    fourier: SeriesConfig | None = None
    chain: ChainConfig | None = None
    made: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _shapes(self) -> Self:
        if (self.fourier is None) == (self.chain is None):
            raise ValueError("give either `fourier` or `chain`")
        n = len(self.joints)
        if self.fourier is not None:
            tables: dict[str, Any] = {"a": self.fourier.a, "b": self.fourier.b, "q0": self.fourier.q0}
            for key, table in tables.items():
                if len(table) != n:
                    raise ValueError(
                        f"fourier.{key}: {len(table)} entries for {n} joints; give one per joint"
                    )
            if len({len(row) for row in (*self.fourier.a, *self.fourier.b)}) != 1:
                raise ValueError(
                    "fourier: rows of different lengths; give every joint equally many harmonics"
                )
        if self.chain is not None and any(len(pose) != n for pose in self.chain.poses):
            raise ValueError(f"chain.poses: a pose has {n} numbers, one per joint")
        return self

    def __hash__(self) -> int:
        return hash((self.path, self.joints, self.fourier, self.chain))

    def motion(self, limits: Limits, rate_hz: float) -> Motion:
        """From rest to rest, at `rate_hz` [Hz]."""
        if self.joints != limits.axes:
            raise ConfigError(
                f"{self.path}: made for the joints {', '.join(self.joints)} of {self.robot}, this robot has "
                f"{', '.join(limits.axes)}; make one for it with heft design"
            )
        if self.fourier is not None:
            given = self.fourier
            series = FourierSeries(np.array(given.a), np.array(given.b), np.array(given.q0), given.period_s)
            return fourier_motion(
                series,
                seconds=given.periods * given.period_s,
                blend_s=0.0,
                rate_hz=rate_hz,
                axes=limits.axes,
            )
        assert self.chain is not None
        poses: NDArray[np.float64] = np.array(self.chain.poses)
        return chain_motion(
            poses, limits, fraction=self.chain.fraction, rest_s=self.chain.rest_s, rate_hz=rate_hz
        )


def load_design(path: Path | str, folder: Path | str = "") -> DesignFile:
    """Read a designed trajectory; `folder` is that of the file which names it."""
    return read(locate(path, folder), DesignFile)
