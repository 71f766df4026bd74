"""What the verdict covers, in words for someone who has read no paper; the verdict itself is `Result.verdict`."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from heft.identify.result import Result
from heft.identify.result.report.evidence import Evidence, Motion, Use
from heft.identify.result.report.numbers import percent, plain, times
from heft.identify.robot.base import base_parameters

__all__ = ["error_of", "prior_error", "scope"]

LEVELS = {
    "mass": "every link has a positive mass",
    "inertia": "every link has a positive mass and a positive definite inertia",
    "full": "every link is a body that could exist: positive mass, and moments of inertia that go together",
    "shape": "every link is a body that could exist inside the box that its shape fits in",
}


def scope(result: Result, evidence: Evidence) -> tuple[tuple[str, str], ...]:
    """What stands behind the verdict, and what does not: topic and text."""
    return (
        ("What was identified", _identified(result, evidence)),
        ("Could it exist?", _consistent(result)),
        ("How well does it predict?", _predicts(result, evidence)),
        ("How sure are the numbers?", re.sub(r"\+- ?", "\u00b1\u202f", result.certainty)),
        ("What the data did not tell", _untold(result)),
    )


def error_of(motions: list[Motion], which: Literal["model", "prior"]) -> float | None:
    """Relative torque error over motions, stacked over samples and joints; None where there is nothing to say."""
    errors = torques = 0.0
    for motion in motions:
        p = motion.prediction
        predicted = p.predicted if which == "model" else motion.prior
        if predicted is None:
            return None
        errors += float((np.where(p.moving, p.measured - predicted, 0.0) ** 2).sum())
        torques += float((np.where(p.moving, p.measured, 0.0) ** 2).sum())
    return float(np.sqrt(errors / torques)) if torques > 0 else None


def prior_error(evidence: Evidence, use: Use) -> float | None:
    """Error of what was known beforehand, on motion of one use."""
    return error_of([motion for motion in evidence.motions if motion.use == use], "prior")


def _identified(result: Result, evidence: Evidence) -> str:
    robot = result.robot
    seconds = sum(origin.duration_s for origin in result.provenance.data)
    recordings = len(result.provenance.data)
    text = (
        f"The inertia of {len(robot.links)} links (what is fixed to a link counts as part of it) and the friction and "
        f"drives of {len(robot.joints)} joints, {plain(result.total_mass)} kg in all"
    )
    if recordings:
        many = f"{recordings} recordings" if recordings > 1 else "one recording"
        text += f", from {seconds:.0f} s of motion in {many}"
    return f"{text}. Method {result.method}."


def _consistent(result: Result) -> str:
    consistency = result.consistency()
    if consistency.ok:
        weakest = min(consistency.margins, key=lambda name: consistency.margins[name])
        text = f"Yes, at level {result.level}: {LEVELS[result.level]}. Nearest to the border: {weakest}."
        if result.level not in ("full", "shape"):
            full = result.consistency("full")
            text += (
                " It also holds at level full."
                if full.ok
                else f" At level full it does not hold ({full.culprit}): do not simulate with it."
            )
        return text
    return (
        f"No: at level {result.level} {consistency.culprit} is not a body that could exist (margin "
        f"{plain(consistency.margin, 2)}, "
        "must be above 0). Simulation and control with such a model can become unstable."
    )


def _predicts(result: Result, evidence: Evidence) -> str:
    fit = f"Torque error on the motion it was fitted to: {percent(result.fit.total)}."
    if result.validation is None:
        return f"{fit} Unseen motion: not tried. Record one more motion, or give a file with --validate."
    text = f"Torque error on unseen motion: {percent(result.validation.total)}. {fit}"
    before = prior_error(evidence, "unseen")
    if before is not None and result.validation.total > 0:
        text += (
            f" What was known before (CAD and data sheets) is off by {percent(before)} on the same unseen motion, "
            f"{times(before / result.validation.total)} times as much."
        )
    return (
        text + " This holds for motion like the one recorded: not for faster motion, other loads or contact."
    )


def _untold(result: Result) -> str:
    groups = base_parameters(result.robot).groups
    alone, combined, never = (len(groups[name]) for name in ("identifiable", "combined", "unidentifiable"))
    total = len(result.layout)
    text = (
        f"Of {total} parameters, torques tell {alone} by themselves and {combined} only in sums with others; "
        f"on {never} no torque of this arm depends."
    )
    held = "what was known before" if result.prior is not None else "the method's own choice"
    text += (
        f" Where they say nothing, the numbers follow {held}. So use the model as a whole, and do not read the mass of "
        "a single link as if it had been weighed."
    )
    missing = len(result.base.names) - result.rank
    if missing > 0:
        text += f" Of the combinations that torques could tell, {missing} did not show in this motion."
    vague = len(result.base.names) - len(result.essential)
    if vague > 0:
        text += f" {vague} of {len(result.base.names)} combinations are small and vague: they hardly matter for torque."
    return text
