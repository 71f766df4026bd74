"""All settings: a new one is a line in `SETTINGS`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any, get_args

from heft.identify.bodies.consistency import Level
from heft.identify.bodies.parameters import JOINT_TERMS
from heft.identify.bodies.prior_spread import PriorSpread
from heft.identify.data.processing import Derivative, Window
from heft.identify.errors import ProblemError
from heft.identify.estimation.estimators import ESTIMATORS
from heft.identify.estimation.friction.choice import FRICTION_TERMS
from heft.identify.information.fit_data import SHARED
from heft.identify.settings.choices import Choices
from heft.identify.settings.readers import (
    Reader,
    flag,
    like,
    not_negative,
    number,
    numbers,
    one_of,
    pair,
    positive,
    whole,
    words,
)

__all__ = ["SETTINGS", "Setting", "described"]


@dataclass(frozen=True)
class Setting:
    """One setting.

    key       its name; what is written in capitals stands for a link, a parameter, an option
    read      from text or YAML to a plain value
    apply     the choices with this value; third argument: what stood for the capitals
    default   in words
    summary   one line
    """

    key: str
    read: Reader
    apply: Callable[[Choices, Any, str], Choices]
    default: str
    summary: str

    @property
    def stem(self) -> str:
        """The key up to its capitals; empty where it has none."""
        stem, _, last = self.key.rpartition(".")
        return f"{stem}." if last.isupper() else ""

    def names(self, key: str) -> bool:
        """Whether `key` is this setting."""
        return key == self.key or (bool(self.stem) and key.startswith(self.stem) and key != self.stem)


def _option(choices: Choices, name: str, value: Any) -> Any:
    """The value of an option of the estimator that was chosen, by the kind of its default."""
    method = choices.method.name
    options = options_of(method)
    if name not in options:
        raise ProblemError(f"{method} has no option {name!r}; it has {', '.join(options) or 'none'}")
    try:
        return like(options[name])(value)
    except ValueError as exc:
        raise ProblemError(f"{value!r} given, must be {exc}") from exc


def _weights(value: Any) -> Any:
    return value if value in ("joint", "none") else numbers(value)


def _weighed(value: Any) -> list[float]:
    """A mass, or a mass and its standard deviation."""
    found = pair(value) if ":" in str(value) or isinstance(value, list) else [number(value), 0.0]
    return [positive(found[0]), not_negative(found[1])]


def _terms(value: Any) -> list[str]:
    return [one_of(JOINT_TERMS)(term) for term in words(value)]


def _friction(value: Any) -> str | list[str]:
    """`auto`, `file`, or friction terms."""
    if value in ("auto", "file"):
        return str(value)
    try:
        return [one_of(FRICTION_TERMS)(term) for term in words(value)]
    except ValueError as exc:
        raise ValueError(f"auto, file, or {exc}") from exc


def _common(value: Any) -> list[str]:
    return [one_of(SHARED)(part) for part in words(value)]


def _groups(value: Any) -> list[list[str]]:
    """Links with = between them, groups with commas; or a list of lists."""
    groups = value.split(",") if isinstance(value, str) else value
    found = [words(group.replace("=", ",") if isinstance(group, str) else group) for group in groups]
    if any(len(group) < 2 for group in found):
        raise ValueError("links that are equal, as link2=link4")
    return found


def _spread(name: str) -> Setting:
    def apply(choices: Choices, value: Any, _: str) -> Choices:
        return choices.with_spread(name, value)

    summary = f"how far the truth may be from the prior: {name}"
    return Setting(f"spread.{name}", not_negative, apply, "the robot's", summary)


SETTINGS: tuple[Setting, ...] = (
    Setting("method", one_of(ESTIMATORS), lambda c, v, _: replace(c, method=replace(c.method, name=v)), "sdp",
            "estimator"),
    Setting("method.OPTION", lambda value: value, lambda c, v, name: c.with_option(name, _option(c, name, v)),
            "the estimator's",
            "an option of the estimator, as method.margin=1e-4"),
    Setting("level", one_of(get_args(Level)), lambda c, v, _: replace(c, level=v), "full",
            "consistency that every link must have"),
    Setting("weighting", _weights, lambda c, v, _: c.with_weighting(v), "joint",
            "of the joints' squared residuals: joint (by their own size), none, or a number for each"),
    Setting("cutoff_hz", positive, lambda c, v, _: replace(c, cutoff_hz=v), "from the data",
            "of the zero-phase low-pass on torques and regressor [Hz]"),
    Setting("delay_s", number, lambda c, v, _: replace(c, delay_s=v), "from the data",
            "of torques against positions [s]; 0: none"),
    Setting("common", _common, lambda c, v, _: replace(c, common=tuple(v)), "none",
            "what several recordings have in common, instead of each its own: offsets, delay, or both"),
    Setting("unmeasured", words, lambda c, v, _: c.with_unmeasured(v), "none",
            "joints whose torque is not measured, or not to be believed, with commas between them"),
    Setting("filter.window", one_of(get_args(Window)), lambda c, v, _: c.with_filter("window", v), "kaiser",
            "kind of low-pass: kaiser or butterworth"),
    Setting("filter.derivative", one_of(get_args(Derivative)), lambda c, v, _: c.with_filter("derivative", v),
            "central", "of positions: central, savitzky_golay or fourier"),
    Setting("filter.order", whole, lambda c, v, _: c.with_filter("order", v), "8, or 4",
            "of the differences or local polynomials"),
    Setting("filter.period_s", positive, lambda c, v, _: c.with_filter("period_s", v), "none",
            "period of the motion, for filter.derivative=fourier [s]"),
    Setting("filter.trim_s", pair, lambda c, v, _: c.with_filter("trim_s", tuple(v)), "0:0",
            "left out at the beginning and at the end [s]"),
    Setting("filter.leave_rest", flag, lambda c, v, _: c.with_filter("leave_rest", v), "true",
            "leave out what a joint does at rest"),
    Setting("terms", _terms, lambda c, v, _: replace(c, robot=c.robot.with_terms(v), friction="file"), "the robot's",
            "of every joint, and no others: " + ", ".join(JOINT_TERMS)),
    Setting("friction", _friction, lambda c, v, _: replace(c, friction=v), "auto",
            "auto: terms and velocities from the data; file: as the robot has them; or friction terms of all joints"),
    Setting("smoothing_velocity", numbers, lambda c, v, _: c.with_smoothing_velocity(v), "the robot's",
            "at which Coulomb friction turns over [rad/s]: a number, or one for each joint; fixes friction"),
    Setting("prior", one_of(("file", "none")), lambda c, v, _: replace(c, prior=None if v == "file" else v), "file",
            "what is known beforehand: file, or none at all"),
    Setting("prior.NAME", numbers, lambda c, v, name: c.with_prior(name, v), "the robot's",
            "a value known beforehand: prior.link3.m=2.5, prior.joint3.viscous=0.8, prior.link3=TEN NUMBERS"),
    *(_spread(one.name) for one in fields(PriorSpread)),
    Setting("bounds.total_mass", pair, lambda c, v, _: c.with_bound("total_mass", tuple(v)), "the robot's",
            "of all links [kg], as 15:20"),
    Setting("bounds.mass.LINK", pair, lambda c, v, link: c.with_mass_bound(link, v), "none",
            "of one link [kg], as bounds.mass.link3=1:3"),
    Setting("bounds.com_in_box", flag, lambda c, v, _: c.with_bound("com_in_box", v), "true",
            "centres of mass inside the links' boxes"),
    Setting("bounds.signs", flag, lambda c, v, _: c.with_bound("signs", v), "true",
            "no negative friction and drive inertia"),
    Setting("constraints.total_mass", _weighed, lambda c, v, _: c.with_constraint("total_mass", tuple(v)),
            "the robot's", "weighed total of the links that move [kg], and its deviation, as 18.2:0.05"),
    Setting("constraints.pinned", words, lambda c, v, _: c.with_constraint("pinned", tuple(v)), "the robot's",
            "links that are exactly as the robot's file says, as link6,link7"),
    Setting("constraints.equal", _groups,
            lambda c, v, _: c.with_constraint("equal", tuple(tuple(group) for group in v)), "the robot's",
            "links with the same ten numbers, as link2=link4"),
)  # fmt: skip
"""In the order in which they are applied."""


def options_of(method: str) -> dict[str, Any]:
    """The options of an estimator with their defaults."""
    function = getattr(import_module(f"heft.identify.estimation.estimators.{method}"), method)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {one.name: one.default for one in parameters}


def described() -> str:
    """All settings as lines: key, default, what it is; then the options of each estimator."""
    width = max(len(one.key) for one in SETTINGS)
    lines = [f"  {one.key:{width}}  {one.summary} (default: {one.default})" for one in SETTINGS]
    lines += ["", "options of the estimators, with their defaults:"]
    for method in ESTIMATORS:
        options = (f"method.{name}={_said(value)}" for name, value in options_of(method).items())
        lines.append(f"  {method:{width}}  {', '.join(options) or 'none'}")
    return "\n".join(lines)


def _said(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else f"{value}"
