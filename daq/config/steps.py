"""The steps of a session: one model for each kind, told by the key that only this kind has; it builds its own motion.

A new excitation family is a trajectory in `heft.daq.trajectory`, and here a model with its key and `trajectory`, in the
list `KINDS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, GetCoreSchemaHandler, create_model, model_validator
from pydantic_core import CoreSchema, core_schema

from heft.daq.config.design_file import DesignFile, load_design
from heft.daq.config.reader import Label, Model, union_tag
from heft.daq.trajectory.fourier import FourierSeries, fourier_motion
from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.minimum_jerk import limited_move
from heft.daq.trajectory.postures import posture_motion, random_postures
from heft.daq.trajectory.random_fourier import random_fourier
from heft.daq.trajectory.trajectory import Motion

__all__ = [
    "KINDS",
    "AnyStep",
    "DesignStep",
    "DesignedStep",
    "FourierStep",
    "GripStep",
    "MoveStep",
    "PosturesStep",
    "ReleaseStep",
    "Step",
    "WaitStep",
]

Seconds = Annotated[float, Field(gt=0, le=86_400)]  # a day; `make_plan` bounds the whole
MOST_HARMONICS = 100
MOST_POSTURES = 10_000
Table = tuple[tuple[float, ...], ...]
Use = Literal["identification", "validation", "payload", "motion"]


class Step(Model):
    """What all steps have; `use` says what the recorded segment is for."""

    #: Whether `trajectory` is the same wherever the arm stands before.
    begins_anywhere: ClassVar[bool] = False

    name: Label
    use: Use = "motion"

    def trajectory(self, limits: Limits, rate_hz: float, here: NDArray[np.float64] | None) -> Motion | None:
        """The motion, from rest to rest, at `rate_hz` [Hz]; None for a step without one.

        `here` is where the arm stands before [rad], shape (n,); None: not known yet.
        """
        return None

    @property
    def seconds(self) -> float:
        """How long a step without a motion takes [s], as far as known."""
        return 0.0

    @property
    def description(self) -> str:
        """What a step without a motion does, in a few words."""
        return ""

    @property
    def per_joint(self) -> Mapping[str, Sequence[Any] | None]:
        """By key: the lists that need one entry per joint of the robot."""
        return {}

    @property
    def files(self) -> Mapping[str, Path]:
        """Files that it was read from, by the names they have beside the session's."""
        return {}

    def resolved(self, folder: Path) -> Step:
        """The step with what other files say, whose paths are seen from `folder`."""
        return self


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
    harmonics: Annotated[int, Field(gt=0, le=MOST_HARMONICS)] = 5
    #: Of the joints' limits, how much a series that is drawn uses. A robot that could hit itself takes less.
    fraction: Annotated[float, Field(gt=0, le=0.99)] = 0.7

    @model_validator(mode="after")
    def _given_or_drawn(self) -> Self:
        given = [key is not None for key in (self.a, self.b, self.q0)]
        if all(given) == (self.seed is not None) or any(given) != all(given):
            raise ValueError("give either `a`, `b` and `q0`, or `seed`")
        widths = {len(row) for row in (*(self.a or ()), *(self.b or ()))}
        if len(widths) > 1 or not widths <= set(range(1, MOST_HARMONICS + 1)):
            raise ValueError(
                f"`a` and `b`: rows of {', '.join(map(str, sorted(widths)))} numbers; give every joint equally many "
                f"harmonics, 1 to {MOST_HARMONICS}, in both"
            )
        return self

    def series(self, limits: Limits) -> FourierSeries:
        """As given, or drawn inside the limits."""
        if self.a is None or self.b is None or self.q0 is None:
            return random_fourier(
                limits,
                period_s=self.period_s,
                harmonics=self.harmonics,
                seed=self.seed or 0,
                fraction=self.fraction,
            )
        return FourierSeries(
            a=np.array(self.a), b=np.array(self.b), q0=np.array(self.q0), period_s=self.period_s
        )


class FourierStep(Step):
    """An excitation by a Fourier series."""

    begins_anywhere = True

    fourier: FourierConfig

    def trajectory(self, limits: Limits, rate_hz: float, here: NDArray[np.float64] | None) -> Motion:
        config = self.fourier
        return fourier_motion(
            config.series(limits),
            seconds=config.seconds,
            blend_s=config.blend_s,
            rate_hz=rate_hz,
            axes=limits.axes,
        )

    @property
    def per_joint(self) -> Mapping[str, Sequence[Any] | None]:
        return {f"fourier.{key}": getattr(self.fourier, key) for key in ("a", "b", "q0")}


class DesignStep(Step):
    """An excitation that `heft design` has made: the path of its file, seen from the session's."""

    design: Path

    def resolved(self, folder: Path) -> Step:
        return DesignedStep(
            name=self.name, use=self.use, design=self.design, file=load_design(self.design, folder)
        )


class DesignedStep(Step):
    """A `DesignStep` with its file."""

    begins_anywhere = True

    design: Path
    file: DesignFile

    def trajectory(self, limits: Limits, rate_hz: float, here: NDArray[np.float64] | None) -> Motion:
        return self.file.motion(limits, rate_hz)

    @property
    def files(self) -> Mapping[str, Path]:
        return {self.design.name: self.file.path}


class MoveConfig(Model):
    """A minimum-jerk move [rad], within a fraction of the joints' velocity and acceleration limits."""

    to: tuple[float, ...]
    fraction: Annotated[float, Field(gt=0, le=1)] = 0.3


class MoveStep(Step):
    """A move from where the arm stands to another posture."""

    move: MoveConfig

    def trajectory(self, limits: Limits, rate_hz: float, here: NDArray[np.float64] | None) -> Motion:
        to = np.array(self.move.to)
        return limited_move(
            to if here is None else here, to, limits, fraction=self.move.fraction, rate_hz=rate_hz
        )

    @property
    def per_joint(self) -> Mapping[str, Sequence[Any] | None]:
        return {"move.to": self.move.to}


class PosturesConfig(Model):
    """Random postures, `each_s` [s] from one to the next, drawn by seed in the middle `fraction` of the ranges."""

    each_s: Seconds
    count: Annotated[int, Field(ge=2, le=MOST_POSTURES)] = 10
    seed: Annotated[int, Field(ge=0)] = 0
    fraction: Annotated[float, Field(gt=0, le=0.99)] = 0.8


class PosturesStep(Step):
    """Minimum-jerk moves between random postures, each in the same time (001)."""

    begins_anywhere = True

    postures: PosturesConfig

    def trajectory(self, limits: Limits, rate_hz: float, here: NDArray[np.float64] | None) -> Motion:
        config = self.postures
        drawn = random_postures(
            limits, count=config.count, each_s=config.each_s, seed=config.seed, fraction=config.fraction
        )
        return posture_motion(drawn, each_s=config.each_s, rate_hz=rate_hz, axes=limits.axes)


class WaitStep(Step):
    """The arm stands for `wait` [s]."""

    wait: Seconds

    @property
    def seconds(self) -> float:
        return self.wait

    @property
    def description(self) -> str:
        return "stands"


class GripStep(Step):
    """The gripper closes on an object, by its name in the rig's file."""

    grip: str

    @property
    def description(self) -> str:
        return f"gripper closes on {self.grip}"


class ReleaseStep(Step):
    """The gripper opens."""

    release: Literal[True]

    @property
    def description(self) -> str:
        return "gripper opens"


#: Every kind of step; the key of each is the one field that `Step` does not have.
KINDS: tuple[type[Step], ...] = (
    FourierStep,
    DesignStep,
    PosturesStep,
    MoveStep,
    WaitStep,
    GripStep,
    ReleaseStep,
)
_KEYS = {next(key for key in kind.model_fields if key not in Step.model_fields): kind for kind in KINDS}


class _Unclear(Step):
    """A step with no key of a kind, or with several: refused, with its other mistakes."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [key for key in _KEYS if getattr(self, key) is not None]
        raise ValueError(f"a step does one of {', '.join(_KEYS)}; this one has {given or 'none'}")


_NONE_OR_SEVERAL = create_model("Step", __base__=_Unclear, **dict.fromkeys(_KEYS, (Any, None)))  # type: ignore[call-overload]


class _ByKey:
    """Makes pydantic choose the kind by the key that is there."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        kinds = {**_KEYS, "": _NONE_OR_SEVERAL}
        choices = {union_tag(key): handler.generate_schema(kind) for key, kind in kinds.items()}
        return core_schema.tagged_union_schema(choices, discriminator=_tag)


def _tag(step: Any) -> str:
    given = [key for key in _KEYS if key in step] if isinstance(step, dict) else []
    return union_tag(given[0] if len(given) == 1 else "")


AnyStep = Annotated[Step, _ByKey()]
