"""The verdict on a result: a grade, a headline, and its reasons, worst first.

It is computed from the result alone, so that a result that is read back has the same. What needs the data is found by
the fit and kept in `Result.findings`. `docs/verdict.md` lists every reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.consistency import Consistency, Level
from heft.identify.bodies.parameters import Layout
from heft.identify.certainty.interval import Interval
from heft.identify.certainty.reason import Reason, Severity
from heft.identify.estimation.alignment.delay import Delay
from heft.identify.estimation.friction import FrictionChoice
from heft.identify.result.base_values import BaseValues
from heft.identify.result.inertia_matrix import check_inertia_matrix
from heft.identify.result.parameter_values import Parameters
from heft.identify.result.provenance import Provenance
from heft.identify.result.relative_error import RelativeError
from heft.identify.robot import Robot

__all__ = ["Grade", "Judged", "Verdict", "judge"]

Grade = Literal["good", "care", "unfit"]

#: Torque error on unseen motion: below the first a model is good, above the second it is not fit for use.
GOOD, UNFIT = 0.05, 0.2
#: The same of one joint that moves: from the first on it is told; above the second, or in so many joints, unfit.
JOINT, JOINT_UNFIT, SEVERAL = 0.2, 0.5, 3
#: Unseen motion predicted so many times worse than seen: the fit knows its data, not the arm.
OVERFITTED = 2.5
#: Mass of a link over its file's, and of all links.
LINK_RATIO, TOTAL_SHARE, TOTAL_UNFIT = 3.0, 0.3, 1.0
ROUNDED = 1e-6  # of a bound on the total mass: a solver's answer stands on it
#: A good motion has a condition number of about 100 (003).
CONDITION = 500.0
#: A delay is beyond sense when it is longer than both.
DELAY_SAMPLES, DELAY_S = 5.0, 0.02
#: Standard deviations below zero, of friction and drive inertia.
NEGATIVE = 3.0
#: Reasons in a headline.
SAID = 2

BODIES = {
    "mass": "every link has a positive mass",
    "inertia": "every link has a positive mass and a positive definite inertia",
    "full": "every link is a body that could exist",
    "shape": "every link is a body that could exist",
}


class Judged(Protocol):
    """What a verdict is computed from: a `Result`."""

    @property
    def robot(self) -> Robot: ...
    @property
    def level(self) -> Level: ...
    @property
    def parameters(self) -> Parameters: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def prior(self) -> Array | None: ...
    @property
    def base(self) -> BaseValues: ...
    @property
    def rank(self) -> int: ...
    @property
    def condition_number(self) -> float: ...
    @property
    def fit(self) -> RelativeError: ...
    @property
    def validation(self) -> RelativeError | None: ...
    @property
    def intervals(self) -> Mapping[str, Interval]: ...
    @property
    def delays(self) -> Mapping[str, Delay]: ...
    @property
    def provenance(self) -> Provenance: ...
    @property
    def friction(self) -> FrictionChoice | None: ...
    @property
    def findings(self) -> tuple[Reason, ...]: ...
    @property
    def total_mass(self) -> float: ...
    def consistency(self, level: Level | None = None) -> Consistency: ...


@dataclass(frozen=True)
class Verdict:
    """`grade` is that of the worst reason, `good` where there is none; `headline` one sentence for people."""

    grade: Grade
    headline: str
    reasons: tuple[Reason, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        reasons = [{"id": one.id, "severity": one.severity, "text": one.text} for one in self.reasons]
        return {"grade": self.grade, "headline": self.headline, "reasons": reasons}


def judge(result: Judged) -> Verdict:
    """Weigh everything that a result knows of itself."""
    reasons = [
        *result.findings,
        *_bodies(result),
        *_prediction(result),
        *_masses(result),
        *_excitation(result),
        *_delays(result),
        *_negative(result),
        *_friction(result),
    ]
    if any(one.severity == "unfit" for one in reasons):  # a cause is as bad as what it causes
        reasons = [replace(one, severity="unfit") if one.cause else one for one in reasons]
    reasons.sort(key=lambda one: one.rank)
    grade: Grade = reasons[0].severity if reasons else "good"
    return Verdict(grade, _headline(result, grade, reasons), tuple(reasons))


def _headline(result: Judged, grade: Grade, reasons: list[Reason]) -> str:
    name = result.robot.name
    if grade == "good":
        assert result.validation is not None
        return (
            f"This model of {name} can be used: it predicts the torque of motion that it has not seen to within "
            f"{_percent(result.validation.total)}, and {BODIES[result.level]}."
        )
    worst = [one for one in reasons if one.severity == grade]
    said = "; ".join(one.text.partition(": ")[0] for one in worst[:SAID])
    more = len(reasons) - len(worst[:SAID])
    rest = "" if not more else f"; and {more} more reason{'s' if more > 1 else ''}"
    use = "is not fit for use" if grade == "unfit" else "can be used with care"
    return f"This model of {name} {use}: {said}{rest}."


def _bodies(result: Judged) -> list[Reason]:
    """Links that could not exist, and an inertia matrix that is not positive definite."""
    reasons, consistency = [], result.consistency()
    if not consistency.ok:
        text = (
            f"{consistency.culprit} could not exist as a body (level {result.level}, margin {consistency.margin:.2g}, "
            "must be above 0); use sdp"
        )
        reasons.append(Reason("inconsistent", "unfit", text, 500.0))
    check = check_inertia_matrix(result.robot, result.parameters.values)
    if not check.ok:
        text = (
            f"the inertia matrix is not positive definite in {check.failed} of {check.poses} random poses (smallest "
            f"eigenvalue {check.smallest:.2g} of the largest, must be above 0): simulations run away; use sdp"
        )
        reasons.append(Reason("inertia-matrix", "unfit", text, 450.0))
    return reasons


def _prediction(result: Judged) -> list[Reason]:
    """Torque errors in total and by joint, on unseen motion where there is any."""
    reasons: list[Reason] = []
    error = result.validation or result.fit
    motion = "of unseen motion" if result.validation is not None else "it was fitted to"
    if error.total > (GOOD if result.validation is not None else UNFIT):
        severity: Severity = "unfit" if error.total > UNFIT else "care"
        text = (
            f"it misses {_percent(error.total)} of the torque {motion}, at most {100 * GOOD:.0f} % is good and "
            f"{100 * UNFIT:.0f} % fit for use: look at the joints' errors and residuals"
        )
        reasons.append(Reason("error", severity, text, 400.0))
    missed = [
        (float(share), joint)
        for share, joint, rows in zip(error.per_joint, result.robot.rows, error.rows, strict=True)
        if rows > 0 and JOINT < share < np.inf  # without any torque: `constant-torque`
    ]
    if missed:
        missed.sort(reverse=True)
        severity = "unfit" if missed[0][0] > JOINT_UNFIT or len(missed) >= SEVERAL else "care"
        listed = ", ".join(f"{_percent(share)} of {joint}'s torque" for share, joint in missed[:4])
        listed += f" and {len(missed) - 4} more joints" if len(missed) > 4 else ""
        text = (
            f"it misses {listed} ({motion}), at most {100 * JOINT:.0f} % may be missed: friction, torque constant or "
            "sign there, or hardly any torque to measure"
        )
        reasons.append(Reason("joint-error", severity, text, 390.0 + min(missed[0][0], 9.0)))
    if result.validation is None:
        text = "it was not tried on motion that the fit has not seen: record one more motion, or give one (--validate)"
        reasons.append(Reason("not-validated", "care", text, 50.0))
    elif result.validation.total > OVERFITTED * result.fit.total and result.validation.total <= UNFIT:
        ratio = result.validation.total / result.fit.total if result.fit.total > 0 else np.inf
        text = (
            f"it predicts unseen motion {ratio:.2g} times worse than the motion it was fitted to, at most "
            f"{OVERFITTED:g}: fit to more and to other motion"
        )
        reasons.append(Reason("overfit", "care", text, 150.0))
    return reasons


def _masses(result: Judged) -> list[Reason]:
    """Masses that are far from the robot's file or data sheet, where their intervals do not reach it."""
    reasons = []
    before = (
        {}
        if result.prior is None
        else {link: float(result.prior[result.layout.link(link)][0]) for link in result.robot.links}
    )
    for link in result.parameters.links:
        file = before.get(link.name, 0.0)
        interval = result.intervals.get(f"{link.name}.mass")
        if (
            not file > 0
            or file / LINK_RATIO <= link.mass <= file * LINK_RATIO
            or _reaches(interval, file, file)
        ):
            continue
        text = (
            f"{link.name} has {link.mass:.3g} kg, its file {file:.3g} kg, and a factor of {LINK_RATIO:g} is plausible: "
            "correct the file, state a wider spread, or bound the mass"
        )
        factor = float(abs(np.log(max(link.mass, 1e-9) / file)))
        reasons.append(Reason("link-mass", "care", text, 260.0 + min(factor, 9.0)))
    whole, total = sum(before.values()), result.total_mass
    interval = result.intervals.get("total_mass")
    low, high = (1 - TOTAL_SHARE) * whole, (1 + TOTAL_SHARE) * whole
    if whole > 0 and not low <= total <= high and not _reaches(interval, low, high):
        severity: Severity = (
            "unfit" if abs(np.log(max(total, 1e-9) / whole)) > np.log(1 + TOTAL_UNFIT) else "care"
        )
        text = (
            f"the links weigh {total:.3g} kg together, {total / whole:.2g} times the file's {whole:.3g} kg, and "
            f"{100 * TOTAL_SHARE:.0f} % more or less are plausible: the torque constants, gears or unit of torque, or "
            "the file's masses"
        )
        reasons.append(Reason("total-mass", severity, text, 280.0))
    sheet = result.robot.total_mass
    outside = sheet is not None and not sheet[0] * (1 - ROUNDED) <= total <= sheet[1] * (1 + ROUNDED)
    if sheet is not None and outside and not _reaches(interval, *sheet):
        text = (
            f"the links weigh {total:.3g} kg together, the data sheet says {sheet[0]:g} to {sheet[1]:g} kg: the "
            "torque constants, gears or unit of torque, or the data sheet's bound"
        )
        reasons.append(Reason("data-sheet", "care", text, 275.0))
    return reasons


def _reaches(interval: Interval | None, low: float, high: float) -> bool:
    """Whether an interval has a part between two values."""
    return interval is not None and interval.low <= high and interval.high >= low


def _excitation(result: Judged) -> list[Reason]:
    """What the motion did not show, or showed unevenly."""
    n = len(result.base.names)
    if result.rank < n:
        text = f"the motion showed only {result.rank} of {n} combinations of parameters: move more, in more postures"
        return [Reason("rank", "care", text, 120.0)]
    if result.condition_number > CONDITION:
        text = (
            f"condition number {result.condition_number:.3g}, good motions have about 100 and at most {CONDITION:.0f}: "
            "move faster and in more postures"
        )
        return [Reason("condition", "care", text, 90.0)]
    return []


def _delays(result: Judged) -> list[Reason]:
    """Delays of streams that are longer than a drive or a sensor has."""
    reasons, origins = [], result.provenance.data
    steps = [one.duration_s / max(one.samples - 1, 1) for one in origins]
    for delay in result.delays.values():
        most = max([DELAY_S, *(DELAY_SAMPLES * step for step in steps)])
        if delay.estimated and abs(delay.value_s) > most:
            text = (
                f"{delay.stream} lags {delay.against} by {1e3 * delay.value_s:.3g} ms, more than {1e3 * most:.3g} ms: "
                "the stamps or a filter of the drive are wrong; correct them"
            )
            reasons.append(Reason("delay", "care", text, 110.0))
    return reasons


def _negative(result: Judged) -> list[Reason]:
    """Friction and drive inertia below zero, beyond their intervals."""
    names, values = result.layout.names, result.parameters.values
    bad = []
    for i in result.layout.non_negative:
        interval = result.intervals.get(names[i])
        if values[i] < 0 and (interval is None or values[i] < -NEGATIVE * interval.std):
            bad.append(f"{names[i]} {values[i]:.3g}")
    if not bad:
        return []
    text = f"negative {', '.join(bad[:4])}{', ...' if len(bad) > 4 else ''}: none can be; use sdp, or correct signs"
    return [Reason("negative", "care", text, 130.0)]


def _friction(result: Judged) -> list[Reason]:
    """Friction of a form that was chosen from the data: its intervals take the form for exact."""
    if result.friction is None or not result.friction.changed:
        return []
    joints = ", ".join(one.joint for one in result.friction.changed)
    text = (
        f"friction of {joints} is not of the form in the robot's file, and was chosen from the data: its intervals, "
        "and those of what it is confused with, take the form for exact; write it into the file once it is settled"
    )
    return [Reason("friction-form", "care", text, 100.0)]


def _percent(share: float) -> str:
    """Of a measured value, to three digits."""
    return f"{100 * share:#.3g}".rstrip(".") + " %"
