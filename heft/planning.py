"""The plan of a session, shown and checked without opening a device."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

from heft.daq.config.session import SessionConfig
from heft.daq.errors import CheckError
from heft.daq.motion.plan import make_plan
from heft.exit_codes import ExitCode
from heft.preflight import Preflight
from heft.terminal.motion import describe_plan, plan_facts

__all__ = ["show_plan"]

_TABLES = 130  # columns


def show_plan(
    config: SessionConfig, as_json: bool, rehearsal: Callable[[], dict[str, Any]] | None = None
) -> int:
    """Every move of a session, from the rig's own posture where its file says one; exit code 1 where a check fails.

    A plan that passes is rehearsed, where `rehearsal` does that; exit code 1 where that does not go well.
    """
    preflight = Preflight(config.rig, config.scene)
    posture = getattr(config.rig.simulation, "posture", None)
    start = np.array(posture) if posture is not None and len(posture) == len(config.rig.robot.axes) else None
    try:
        plan = make_plan(config, start, preflight.checks, route=preflight.route)
    except CheckError as exc:
        violations = [
            {"what": v.joint, "quantity": v.quantity, "time_s": v.time_s, "value": v.value, "bound": v.bound}
            for v in exc.violations
        ]
        sys.stderr.write(f"heft plan: {exc}\n")
        if as_json:
            sys.stdout.write(json.dumps({"ok": False, "error": str(exc), "violations": violations}) + "\n")
        return ExitCode.NO
    outlook = preflight.outlook(plan)
    facts = {} if rehearsal is None else {"rehearsal": rehearsal()}
    code = ExitCode.DONE if not facts or facts["rehearsal"]["good"] else ExitCode.NO
    if as_json:
        told = {"ok": True, **plan_facts(plan, config.rig.robot.joints, outlook), **facts}
        sys.stdout.write(json.dumps(told) + "\n")
        return code
    console = Console(file=sys.stdout, highlight=False, markup=False)
    console.width = max(console.width, _TABLES)
    describe_plan(plan, config.rig.robot.joints, console, outlook)
    console.print(
        "every check is passed" + ("" if start is not None else "; where the arm will stand is not known yet")
    )
    return code
