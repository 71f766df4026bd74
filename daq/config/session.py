"""A session's file: a rig, and what its arm does, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from heft.daq.config.reader import Label, Model, read
from heft.daq.config.rig import RigConfig, load_rig
from heft.daq.config.scene import SceneConfig
from heft.daq.config.shipped import locate
from heft.daq.config.steps import AnyStep, Step
from heft.daq.errors import ConfigError

__all__ = ["SessionConfig", "WatchConfig", "is_session", "load_identify", "load_session"]

Positive = Annotated[float, Field(gt=0)]
MOST_STEPS = 1000
FASTEST_HZ = 20_000  # setpoints; no drive takes them faster


class WatchConfig(Model):
    """What is watched at every sample while the arm moves; leaving a bound stops it."""

    tracking_error: Positive = 0.1  # [rad]; ten times what a well-tuned drive shows
    stream_age_s: Positive = 0.1  # a silent device is lost after this
    velocity_margin: Positive = 1.1  # measured velocity may exceed the joint's limit by this factor (noise)
    torque_margin: Positive = 1.1  # measured torque may exceed the joint's limit by this factor (noise)
    position_margin: Annotated[float, Field(ge=0)] = 0.02  # [rad] beyond the joint's limit (tracking error)


class _SessionFile(Model):
    path: Path
    name: Annotated[Label, Field(pattern=r"^[^./\\][^/\\]*$")]  # also of its files
    rig: Path
    steps: Annotated[tuple[AnyStep, ...], Field(min_length=1, max_length=MOST_STEPS)]
    rate_hz: Annotated[float, Field(gt=0, le=FASTEST_HZ)] = 1000.0
    approach_fraction: Annotated[float, Field(gt=0, le=1)] = 0.3  # of the limits, when moving to a start
    watch: WatchConfig = WatchConfig()
    identify: dict[str, Any] = Field(default_factory=dict)
    scene: SceneConfig = SceneConfig()


class _IdentifySection(Model):
    model_config = ConfigDict(extra="ignore")

    path: Path
    identify: dict[str, Any] = Field(default_factory=dict)


class SessionConfig(Model):
    """A session: steps on a rig. `rate_hz` is that of the setpoints, `identify` the settings of its identification."""

    path: Path
    name: str
    rig: RigConfig
    steps: tuple[Step, ...]
    rate_hz: float
    approach_fraction: float
    watch: WatchConfig
    identify: dict[str, Any]
    scene: SceneConfig = SceneConfig()  # the robot's and the rig's, and what the session adds


def is_session(path: Path) -> bool:
    """Whether a file is a session's: it has `steps`; a rig's has none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return False  # what is wrong with it is told by whoever reads it
    return any(line.startswith("steps:") for line in lines)


def load_session(path: Path | str) -> SessionConfig:
    """Read a session's file with its rig and robot."""
    path = locate(path)
    raw = read(path, _SessionFile)
    rig = load_rig(locate(raw.rig, path.parent))
    _check_widths(path, raw, len(rig.robot.axes))
    fields: dict[str, Any] = {key: getattr(raw, key) for key in _SessionFile.model_fields}
    steps = tuple(step.resolved(path.parent) for step in raw.steps)
    scene = rig.scene.extended(raw.scene)
    return SessionConfig(**{**fields, "rig": rig, "steps": steps, "scene": scene})


def load_identify(path: Path) -> dict[str, Any]:
    """The section `identify` of a session's file, whatever else is in it."""
    return read(path, _IdentifySection).identify


def _check_widths(path: Path, session: _SessionFile, n: int) -> None:
    """Every list with one entry per joint has as many as the robot has joints."""
    for step in session.steps:
        for key, values in step.per_joint.items():
            if values is not None and len(values) != n:
                raise ConfigError(
                    f"{path}: steps.{step.name}.{key}: {len(values)} entries, but the robot has {n} joints; "
                    "give one per joint, in the robot's order"
                )
