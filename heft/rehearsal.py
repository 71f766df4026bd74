"""A rehearsal: the session on the simulated twin of its rig, identified and compared with the planted truth."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from heft import __version__
from heft.attachments import attachments_of
from heft.daq.bus.runtime import private_endpoints
from heft.daq.clock import SimulatedClock
from heft.daq.config.session import SessionConfig
from heft.daq.motion.plan import make_plan
from heft.daq.motion.state import State
from heft.daq.recording import Recording
from heft.daq.session.outcome import Outcome
from heft.daq.session.session import Session
from heft.daq.twin import twin_of
from heft.drivers.errors import HeftError
from heft.preflight import Preflight
from heft.rehearsed import PlanHash
from heft.viewing import viewer_of_config

__all__ = ["JointHeat", "Rehearsal", "rehearse"]


@dataclass(frozen=True, slots=True)
class JointHeat:
    """Torque of a joint in the rehearsal [N m, N]: its peak, its root mean square, and its limit."""

    joint: str
    peak: float
    rms: float
    limit: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; shares are of the limit."""
        shares = {"peak_share": self.peak / self.limit, "rms_share": self.rms / self.limit}
        return {"joint": self.joint, "peak": self.peak, "rms": self.rms, "limit": self.limit, **shares}


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What came out on the twin.

    at          when it was rehearsed, UTC
    devices     what stood in for each device: kind by name
    hottest     joints by the largest share of their torque limits, first the hottest
    identified  what an identification will say, and whether it found the truth; None: there is nothing to identify
    error       why it did not come to its end; empty where it did
    """

    plan: PlanHash
    at: str
    seed: int
    state: str
    session_seconds: float
    wall_seconds: float
    devices: Mapping[str, str]
    hottest: tuple[JointHeat, ...] = ()
    identified: Mapping[str, Any] | None = None
    error: str = ""

    @property
    def good(self) -> bool:
        """It was played to its end, and what was planted was found."""
        found = self.identified is None or bool(self.identified["truth"]["recovered"])
        return not self.error and found

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "good": self.good,
            "plan": self.plan.text,
            "at": self.at,
            "seed": self.seed,
            "state": self.state,
            "error": self.error or None,
            "session_seconds": self.session_seconds,
            "wall_seconds": self.wall_seconds,
            "devices": dict(self.devices),
            "hottest": [heat.to_dict() for heat in self.hottest],
            **(self.identified or {"condition_number": None, "truth": None}),
        }


def rehearse(config: SessionConfig, settings: Mapping[str, Any]) -> Rehearsal:
    """Play the session on the twin as fast as this host can, identify with these settings, compare with the truth.

    The seed is the plan's hash: another plan meets another arm, the same plan the same. `CheckError` where the plan may
    not be played on the rig itself, `ConfigError` where there can be no twin.
    """
    begin = time.monotonic()
    plan, preflight = PlanHash.of(config), Preflight(config.rig, config.scene)
    draft = make_plan(config, checks=preflight.checks, route=preflight.route)
    twin = twin_of(config, draft)
    seed = int(plan.text[:8], 16)
    hottest: tuple[JointHeat, ...] = ()
    identified: Mapping[str, Any] | None = None
    with tempfile.TemporaryDirectory(prefix="heft-rehearsal-") as folder:
        outcome = asyncio.run(_play(twin, Path(folder), seed, preflight))
        error = outcome.reason if outcome.state is not State.DONE else ""
        if not error and outcome.file is not None and outcome.truth is not None:
            recording = Recording.open(outcome.file)
            try:
                hottest = _hottest(recording, config)
                if any(step.use == "identification" for step in config.steps):
                    truth = json.loads(outcome.truth.read_text(encoding="utf-8"))
                    identified = _identified(recording, settings, truth["parameters"])
            except HeftError as exc:
                error = f"not identified: {exc}"
    return Rehearsal(
        plan,
        datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seed,
        str(outcome.state),
        outcome.seconds,
        time.monotonic() - begin,
        {name: device.kind for name, device in twin.rig.devices.items()},
        hottest,
        identified,
        error,
    )


async def _play(twin: SessionConfig, out: Path, seed: int, preflight: Preflight) -> Outcome:
    """As `heft run` plays a simulated rig: same session, same checks."""
    with private_endpoints() as endpoints:
        session = Session(
            twin,
            clock=SimulatedClock(),
            out=out,
            endpoints=endpoints,
            seed=seed,
            checks=preflight.checks,
            judged=preflight.judged,
            route=preflight.route,
            attachments=attachments_of(twin),
            notes={"software": {"name": "heft", "version": __version__}, "rehearsal": {"state": "rehearsal"}},
            viewer=viewer_of_config(twin.rig.robot, copies=False),
        )
        return await session.run()


def _hottest(recording: Recording, config: SessionConfig) -> tuple[JointHeat, ...]:
    """Torques as the twin's drives measured them, in all segments that are used for something."""
    from heft.identify.data.dataset import Dataset
    from heft.identify.data.recorded_robot import robot_of

    robot = robot_of(recording)
    uses: Sequence[str | None] = sorted({step.use for step in config.steps} - {"motion"}) or [None]
    torque = np.concatenate([Dataset.from_recording(recording, robot, use).tau for use in uses])
    joints = config.rig.robot.joints
    found = [
        JointHeat(
            name, float(np.abs(torque[:, k]).max()), float(np.sqrt(np.mean(torque[:, k] ** 2))), joint.torque
        )
        for k, (name, joint) in enumerate(joints.items())
    ]
    return tuple(sorted(found, key=lambda heat: -heat.peak / heat.limit))


def _identified(
    recording: Recording, settings: Mapping[str, Any], truth: Mapping[str, float]
) -> dict[str, Any]:
    """What the identification says, with what is expected of the real one: condition, deviations, intervals."""
    from heft.identify.excitation.recovery import Recovery
    from heft.identify.fit import identify_recordings

    result = identify_recordings([recording], settings=settings)
    std = result.base.std
    return {
        "condition_number": result.condition_number,
        "rank": result.rank,
        "verdict": result.verdict.to_dict()["grade"],
        "relative_error": {
            "fit": result.fit.total,
            "validation": None if result.validation is None else result.validation.total,
        },
        "expected_std": {
            name: float(value) if np.isfinite(value) else None
            for name, value in zip(result.base.names, std, strict=True)
        },
        "expected_intervals": {
            name: {"half_width": 0.5 * (interval.high - interval.low), "unit": interval.unit}
            for name, interval in result.intervals.items()
            if np.isfinite(interval.high - interval.low)
        },
        "truth": Recovery.of(result, truth).to_dict(),
    }
