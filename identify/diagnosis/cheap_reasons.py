"""What a look over a recording, without any fit, says against a result: for its verdict."""

from __future__ import annotations

from heft.daq.recording import Recording
from heft.identify.certainty.reason import Reason
from heft.identify.diagnosis.diagnose import glance
from heft.identify.diagnosis.finding import Finding
from heft.identify.diagnosis.recorded_log import recorded_log
from heft.identify.errors import HeftError
from heft.identify.robot import Robot

__all__ = ["cheap_reasons", "payload_reasons"]

#: Serious findings that a fit does not see by itself; of gaps, holds and spikes it takes care and tells.
TOLD = frozenset(("clock_drift", "dead_column", "rate_mismatch", "synchronous_axes"))
#: What an arm is identified from, and a load is not: a hand may weigh at rest.
EXCITATION = frozenset(("slow_motion", "synchronous_axes", "unexcited_axis"))


def cheap_reasons(recording: Recording, robot: Robot) -> list[Reason]:
    """What matters of it; measured velocities are not fitted, so that faults of theirs alone are left out."""
    try:
        found = glance(recorded_log(recording, robot), robot)
    except HeftError:  # what cannot be read so was told by the fit, which reads more closely
        return []
    return [one.reason() for one in found if _matters(one)]


def payload_reasons(recording: Recording, robot: Robot, *, by_joints: bool) -> list[Reason]:
    """What speaks against weighing from a recording; torques count where they are weighed by (`by_joints`)."""
    try:
        found = glance(recorded_log(recording, robot, whole=True), robot)
    except HeftError:  # what cannot be read so is told by who weighs
        return []
    unused = () if by_joints else ("tau",)
    return [
        one.reason()
        for one in found
        if _matters(one) and one.id not in EXCITATION and (one.place is None or one.place.table not in unused)
    ]


def _matters(one: Finding) -> bool:
    if (
        one.place is not None
        and one.place.table == "dq"
        and (one.fix is None or set(one.fix) == {"velocity"})
    ):
        return False
    return one.severity == "fatal" or (one.severity == "serious" and one.id in TOLD)
