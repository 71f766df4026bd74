"""What a fit finds out about its data and its model that the parameters alone do not tell."""

from __future__ import annotations

from dataclasses import replace

from heft.identify.bodies.prior_spread import PriorSpread
from heft.identify.certainty.assessment import Assessment
from heft.identify.certainty.bound_costs import bound_costs
from heft.identify.certainty.causes import find_causes
from heft.identify.certainty.causes.agreement import Agreement
from heft.identify.certainty.causes.torque_gain import unknown_gains
from heft.identify.certainty.data_faults import data_faults
from heft.identify.certainty.reason import Reason
from heft.identify.certainty.wrench_findings import wrench_findings
from heft.identify.estimation.alignment import Alignment
from heft.identify.estimation.carried import Carried
from heft.identify.estimation.estimate import Estimate

__all__ = ["findings"]


def findings(
    alignment: Alignment,
    estimate: Estimate,
    assessment: Assessment,
    spread: PriorSpread,
    wrist: str = "",
    carried: Carried | None = None,
) -> tuple[Reason, ...]:
    """Reasons against an estimate that need the data: causes, faults of the data, costs of bounds, the model check.

    spread    of the prior as stated: what may be a cause is no reason to believe the robot's file less
    wrist     what contradicts the wrist sensor, or why it is not believed; empty where nothing does
    carried   what the wrist sensor says, also where the joints contradict it: it knows nothing of their torques' scale
    """
    data, problem = alignment.data, alignment.problem
    believed = replace(problem, carried=carried, spread=spread)
    found = [
        *find_causes(data, believed),
        *wrench_findings(data, problem, estimate.parameters),
        *data_faults(data),
        *bound_costs(problem, estimate),
    ]
    if assessment.unmodelled:
        loudest = max(assessment.unmodelled, key=lambda one: one.loudness)
        joints = ", ".join(one.joint for one in assessment.unmodelled)
        text = (
            f"the model does not hold for {joints} (residual up to {min(loudest.loudness, 1e3):.3g} times the sensor's "
            "noise, and not noise): friction of another form, elasticity or a wrong torque constant; parameters may be "
            "off by more than their intervals"
        )
        found.append(Reason("unmodelled", "care", text, 180.0 + len(assessment.unmodelled)))
        torques_alone = data.robot.sources is None and not data.robot.tree.free
        if torques_alone and problem.prior is not None and all(one.id != "gain-unknown" for one in found):
            names = [one.joint for one in assessment.unmodelled]
            found += unknown_gains(
                Agreement.of_problem(replace(problem, spread=spread)), data.robot.joints, names
            )
    if wrist:
        found.append(Reason("wrist", "care", wrist, 300.0))
    return tuple(found)
