"""A session's file: a rig, and what its arm does, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from daq.config.reader import Model, read
from daq.config.rig import RigConfig, load_rig
from daq.errors import ConfigError

__all__ = ["FourierConfig", "MoveConfig", "SessionConfig", "Step", "WatchConfig", "load_session"]

Positive = Annotated[float, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0, le=1e6)]  # no session lasts longer than 11 days
Table = tuple[tuple[float, ...], ...]
Use = Literal["identification", "validation", "payload", "motion"]


class FourierConfig(Model):
    """A finite Fourier series (003, Eq. 78): coefficients given, or drawn by seed inside the joint limits.

    `a`, `b` have one row per joint and one column per harmonic [rad/s]; `q0` [rad] is the centre.
    `seconds` counts the pure series; blends of `blend_s` at both ends come on top.
    """

    seconds: Seconds = 20.0
    period_s: Seconds = 20.0
    blend_s: Seconds = 2.0  # long enough that the blend asks for less acceleration than the series
    a: Table | None = None
    b: Table | None = None
    q0: tuple[float, ...] | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    harmonics: Annotated[int, Field(gt=0)] = 5

    @model_validator(mode="after")
    def _given_or_drawn(self) -> Self:
        given = [key is not None for key in (self.a, self.b, self.q0)]
        if all(given) == (self.seed is not None) or any(given) != all(given):
            raise ValueError("give either `a`, `b` and `q0`, or `seed`")
        return self


class MoveConfig(Model):
    """A minimum-jerk move [rad], within a fraction of the joints' velocity and acceleration limits."""

    to: tuple[float, ...]
    fraction: Annotated[float, Field(gt=0, le=1)] = 0.3


class Step(Model):
    """One step of a session: exactly one of a Fourier series, a move, a wait [s], a grip or a release."""

    name: str
    use: Use = "motion"
    fourier: FourierConfig | None = None
    move: MoveConfig | None = None
    wait: Seconds | None = None
    grip: str | None = None  # the object to pick up, by its name in the rig's file
    release: Literal[True] | None = None

    @model_validator(mode="after")
    def _one_action(self) -> Self:
        given = [k for k in ("fourier", "move", "wait", "grip", "release") if getattr(self, k) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a step does one of fourier, move, wait, grip, release; this one has {given or 'none'}"
            )
        return self


class WatchConfig(Model):
    """What is watched at every sample while the arm moves; leaving a bound stops it."""

    tracking_error: Positive = 0.1  # [rad]; ten times what a well-tuned drive shows
    stream_age_s: Positive = 0.1  # a silent device is lost after this
    velocity_margin: Positive = 1.1  # measured velocity may exceed the joint's limit by this factor (noise)
    position_margin: Annotated[float, Field(ge=0)] = 0.02  # [rad] beyond the joint's limit (tracking error)


class _SessionFile(Model):
    path: Path
    name: Annotated[str, Field(min_length=1, pattern=r"^[^/\x00]*$")]  # also of its files
    rig: Path
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    rate_hz: Positive = 1000.0
    approach_fraction: Annotated[float, Field(gt=0, le=1)] = 0.3  # of the limits, when moving to a start
    watch: WatchConfig = WatchConfig()


class SessionConfig(Model):
    """A session: steps on a rig. `rate_hz` is that of the setpoints."""

    path: Path
    name: str
    rig: RigConfig
    steps: tuple[Step, ...]
    rate_hz: float
    approach_fraction: float
    watch: WatchConfig


def load_session(path: Path | str) -> SessionConfig:
    """Read a session's file with its rig and robot."""
    path = Path(path)
    raw = read(path, _SessionFile)
    rig = load_rig(path.parent / raw.rig)
    _check_widths(path, raw, len(rig.robot.axes))
    fields: dict[str, Any] = {key: getattr(raw, key) for key in _SessionFile.model_fields}
    return SessionConfig(**{**fields, "rig": rig})


def _check_widths(path: Path, session: _SessionFile, n: int) -> None:
    """Every list with one entry per joint has as many as the robot has joints."""
    for step in session.steps:
        lists: dict[str, Any] = {}
        if step.fourier is not None:
            lists = {f"fourier.{key}": getattr(step.fourier, key) for key in ("a", "b", "q0")}
        if step.move is not None:
            lists = {"move.to": step.move.to}
        for key, values in lists.items():
            if values is not None and len(values) != n:
                raise ConfigError(
                    f"{path}: steps.{step.name}.{key}: {len(values)} entries, but the robot has {n} joints; "
                    "give one per joint, in the robot's order"
                )
