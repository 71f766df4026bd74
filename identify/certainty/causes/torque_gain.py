"""Torques that are a constant times what the robot's file expects: of all joints, or of one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.least_norm import least_norm
from heft.identify.bodies.parameters import Layout
from heft.identify.certainty.causes.agreement import Agreement, Explained
from heft.identify.certainty.reason import CAUSE, Reason, Severity

__all__ = [
    "Gain",
    "common_gain",
    "driving_friction",
    "file_gains",
    "joint_gain",
    "likeliest_gain",
    "unknown_gains",
    "unsure_scale",
]

DECADES = (
    1e-3,
    1e-2,
    0.1,
    10.0,
    100.0,
    1e3,
)  # that are tried too: friction may hide what one joint would tell
NOTHING = 1e-6  # a gain that leaves friction alone
STEP = 0.1  # of log gain, for the parabola through three costs
FARTHEST = 0.3  # of log gain, that one parabola is believed
ROUNDS = 6
LEAST_SHARE = (
    0.02  # of the square of what changes of a joint's torque, that the file must explain to tell its gain
)
LEAST_COMMON, LEAST_ONE = 0.15, 0.4  # |log gain| that is worth a word: 16 %, 50 %
LIKELY_COMMON, LIKELY_ONE = 3.0, 6.0  # nats better than gain 1: 2.5 standard deviations; one of n joints
UNSURE = 1.3  # a factor on all torques, or one over it, that must not pass unseen: less than some arms' files are off
SURE = 2.5  # standard deviations
INTERVAL = 1.92  # nats below the best: 95 % of one unknown, half of chi squared
BARRIER = 3 * INTERVAL  # nats, beyond which no second maximum is looked for
WIDEST = 24  # steps of 0.1 in log gain that an interval is followed for: a factor of 11
UNSEEN = (0.1, 0.5, 2.0)  # gains tried of a joint whose own torque does not show what the file expects
LARGE, CERTAIN = 0.5, 5.0  # |log gain| and nats from which the answer is not fit for use


_Explain = Callable[[float, Explained | None], Explained]


@dataclass(frozen=True)
class Gain:
    """A gain, the standard deviation of its logarithm, and by how many nats it explains the data better than 1.

    best      what it explains
    """

    value: float
    std: float
    better: float
    best: Explained

    def said(self, explained: _Explain) -> tuple[str, bool]:
        """The gain in words, and whether it is a number rather than a bound."""
        low, high = sorted(abs(end) for end in _interval(explained, self))
        if low < abs(self.value) * np.exp(-STEP * WIDEST):
            return f"at most {high:.2g} times", False
        return f"{self.value:.3g} times (95 % interval {low:.2g} to {high:.2g})", True

    @property
    def size(self) -> float:
        return abs(float(np.log(abs(self.value))))


def file_gains(agreement: Agreement) -> Array:
    """Gain of each joint by itself: its torque over what the file's links expect, friction free; NaN where not told."""
    known, gains = agreement.known, np.full(len(agreement.grams), np.nan)
    for j, gram in enumerate(agreement.grams):
        used = [i for i in known.free if gram[i, i] > 0]
        change = np.zeros((len(gram), len(used) + 2))
        change[:-1, 0] = known.rigid
        change[used, np.arange(1, len(used) + 1)] = 1.0
        change[-1, -1] = 1.0
        G = change.T @ gram @ change
        size = np.sqrt(np.maximum(np.diag(G), 0.0))
        if not (size[0] > 0 and size[-1] > 0):
            continue
        size = np.where(size > 0, size, 1.0)
        G = G / np.outer(size, size)
        x = least_norm(G[:-1, :-1], G[:-1, -1], 1e-9)
        rest = G[0, 0] - G[0, 1:-1] @ least_norm(G[1:-1, 1:-1], G[1:-1, 0], 1e-9)
        if x[0] ** 2 * rest * gram[-1, -1] > LEAST_SHARE * agreement.changing[j]:
            gains[j] = x[0] * size[-1] / size[0]
    return gains


def likeliest_gain(agreement: Agreement, now: Explained, *, thorough: bool) -> Gain:
    """The gain of all torques that explains the data best; without `thorough` only one near 1 is looked for."""
    starts = [1.0]
    if thorough:
        alone = file_gains(agreement)
        alone = alone[np.isfinite(alone)]
        starts += [-1.0, *alone.tolist(), *([float(np.median(alone))] if len(alone) else [])]
        nothing = agreement.explained(NOTHING).cost  # a file that says nothing is no scale
        starts += [one for one in DECADES if agreement.explained(one).cost < nothing - LIKELY_ONE]
    return _best(agreement.explained, now, starts)


def common_gain(agreement: Agreement, gain: Gain) -> list[Reason]:
    """The likeliest gain of all torques, where it is not 1."""
    likely = gain.better > (LIKELY_COMMON if gain.value > 0 else LIKELY_ONE)
    if not likely or (gain.value > 0 and gain.size < max(LEAST_COMMON, SURE * gain.std)):
        return []
    severity: Severity = "care"
    if gain.better > CERTAIN and (gain.value < 0 or gain.size > LARGE):
        severity = "unfit"
    name = "torque-sign" if gain.value < 0 else "torque-scale"
    size, sure = gain.said(agreement.explained)
    what = "have the opposite sign of" if -1.2 < gain.value < -0.8 else f"look {size} as large as"
    cause = f"{_usual(gain.value, 'the')}, or every mass of the file"
    text = f"all torques {what} what {agreement.known.who} expects: {cause}"
    fix = {"torque": {"scale": 1 / gain.value}} if sure else None
    return [Reason(name, severity, text, weight=CAUSE + gain.better, fix=fix)]


def joint_gain(agreement: Agreement, now: Explained, joints: tuple[str, ...]) -> list[Reason]:
    """A gain of one joint's torque, all others being right: the joint that explains most."""
    alone = file_gains(agreement)
    usual = float(np.nanmedian(alone)) if np.isfinite(alone).any() else 1.0
    found: list[tuple[Gain, str, str, bool]] = []
    for j, joint in enumerate(joints):
        if not agreement.used[j]:
            continue
        explained = _of_joint(agreement, j)
        told = np.isfinite(alone[j])
        starts = [-1.0, float(alone[j] / usual), float(alone[j])] if told else list(UNSEEN)
        gain = _best(explained, now, starts)
        if gain.better > LIKELY_ONE and ((told and gain.value < 0) or gain.size > LEAST_ONE):
            found.append((gain, joint, *gain.said(explained)))
    reasons = []
    for gain, joint, size, sure in sorted(found, key=lambda one: -one[0].better)[:2]:
        severity: Severity = "unfit" if gain.better > 2 * CERTAIN else "care"
        what = "has the opposite sign of" if -1.2 < gain.value < -0.8 else f"looks {size} as large as"
        text = f"the torque of {joint} {what} what the file and the other joints expect: {_usual(gain.value, 'its')}"
        text += "" if sure else ", or leave it out where it is no torque (`unmeasured`)"
        scale = [1 / gain.value if one == joint else 1.0 for one in joints]
        fix = {"torque": {"scale": scale}} if sure else None
        reasons.append(Reason("joint-gain", severity, text, CAUSE + gain.better, (joint,), fix))
    return reasons


def _of_joint(agreement: Agreement, joint: int) -> _Explain:
    """What a gain of one joint explains."""

    def explained(gain: float, near: Explained | None) -> Explained:
        gains = np.ones(len(agreement.grams))
        gains[joint] = gain
        return agreement.explained(gains, near)

    return explained


def unsure_scale(agreement: Agreement, near: Gain) -> list[Reason]:
    """That a factor of `UNSURE` on all torques would not show, beside a file that is no better known than that.

    It shows where it is as improbable as a gain must be probable to be told: 3 nats, 2.5 standard deviations.

    near   the likeliest gain near 1
    """
    costs = (agreement.explained(gain, near.best).cost for gain in (UNSURE, 1 / UNSURE))
    if min(costs) > near.best.cost + LIKELY_COMMON:
        return []
    low, high = sorted(_interval(agreement.explained, near))
    text = (
        f"a factor of {low:.2g} to {high:.2g} (95 % interval) on all torques explains the data as well as "
        f"{agreement.known.who} does, so that torque constants that are {100 * (UNSURE - 1):.0f} % off may not show: "
        "give `total_mass` of the data sheet, a recording with a known load, or a smaller `prior_spread` if the masses "
        "are sure"
    )
    return [Reason("scale-unknown", "care", text, weight=55.0)]


def unknown_gains(
    agreement: Agreement, joints: tuple[str, ...], asked: Collection[str] | None = None
) -> list[Reason]:
    """Joints whose gain cannot be told, since what the file knows makes next to nothing of their torque.

    asked   joints that are looked at; None: all
    """
    alone = file_gains(agreement)
    silent = [
        joint
        for joint, gain, used in zip(joints, alone, agreement.used, strict=True)
        if used and not np.isfinite(gain) and (asked is None or joint in asked)
    ]
    if not silent:
        return []
    text = (
        f"weight and inertia make less than {100 * LEAST_SHARE:.0f} % of the squared changes of the torque of "
        f"{', '.join(silent)}, so that a wrong torque constant there would not show: move them faster, or with a load"
    )
    return [Reason("gain-unknown", "care", text, weight=50.0)]


def driving_friction(
    agreement: Agreement, now: Explained, layout: Layout, joints: tuple[str, ...]
) -> list[Reason]:
    """Whether friction drives most joints instead of braking them: the sign of torques, where no file tells it."""
    powers = []
    for gram, joint in zip(agreement.grams, joints, strict=True):
        terms = layout.joint_terms.get(joint, {})
        if not {"viscous", "coulomb"} <= set(terms) or not gram[-1, -1] > 0:
            continue
        speed, sign = terms["viscous"], terms["coulomb"]
        braking = now.parameters[speed] * gram[speed, speed] + now.parameters[sign] * gram[speed, sign]
        whole = float(np.sqrt(gram[speed, speed] * gram[-1, -1]))
        powers.append((float(braking) / max(whole, 1e-300), joint))
    driving = [joint for power, joint in powers if power < -LEAST_SHARE]
    if not powers or len(driving) <= len(powers) / 2:
        return []
    text = (
        f"friction drives {len(driving)} of {len(powers)} joints instead of braking them ({', '.join(driving)}): "
        f"{_usual(-1.0, 'the')}"
    )
    fix = {"torque": {"scale": -1.0}}
    return [Reason("torque-sign", "unfit", text, CAUSE + len(driving), tuple(driving), fix)]


def _interval(explained: _Explain, gain: Gain) -> tuple[float, float]:
    """The least and the largest gain about as likely as the best one, whatever is between them."""
    least, ends = gain.best.cost, []
    for sign in (-1, 1):
        at, further, near = gain.value, gain.value, gain.best
        for _ in range(WIDEST):
            further *= float(np.exp(sign * STEP))
            near = explained(further, near)
            if near.cost > least + BARRIER:
                break
            if near.cost < least + INTERVAL:
                at = further
        ends.append(at * float(np.exp(sign * STEP / 2)))
    return ends[0], ends[1]


def _best(explained: _Explain, now: Explained, starts: list[float]) -> Gain:
    """The gain that explains most: from the best of these starts, by parabolas in its logarithm."""
    tried = {1.0: now}
    for start in starts:
        if start != 0.0 and start not in tried:
            tried[start] = explained(start, None)
    gain = min(tried, key=lambda g: tried[g].cost)
    bend = 0.0
    for _ in range(ROUNDS):
        middle, at = tried[gain], gain
        below, above = at * float(np.exp(-STEP)), at * float(np.exp(STEP))
        for g in (at, below, above):
            tried[g] = explained(g, middle)
        slope = (tried[above].cost - tried[below].cost) / (2 * STEP)
        bend = (tried[above].cost + tried[below].cost - 2 * tried[at].cost) / STEP**2
        step = -slope / bend if bend > 0 else -np.inf * slope
        next_one = at * float(np.exp(np.clip(step, -FARTHEST, FARTHEST)))
        tried[next_one] = explained(next_one, tried[at])
        gain = min(tried, key=lambda g: tried[g].cost)
        if abs(np.log(abs(gain / at))) < STEP:
            break
    std = float(1 / np.sqrt(max(bend, 1.0)))
    return Gain(gain, std, tried[1.0].cost - tried[gain].cost, tried[gain])


def _usual(gain: float, whose: str) -> str:
    """What usually causes a gain."""
    size = abs(gain)
    if gain < 0:
        return (
            f"{whose} sign of torque or of position is turned round; correct `torque_constant` or the columns"
        )
    for factor, units in ((1000.0, "N mm for N m"), (9.81, "kgf m for N m")):
        if abs(np.log(size / factor)) < 0.25 or abs(np.log(size * factor)) < 0.25:
            return f"{units}, {whose} torque constant or gear ratio; correct `torque_constant` or `gear`"
    return f"{whose} torque constant, gear ratio or unit of torque; correct `torque_constant` or `gear`"
