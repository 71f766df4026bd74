"""Contacts that should rest and move: feet that slip, slide, step or tip.

A contact that rests feels gravity alone, always in the same direction of its own axes. What it feels follows from the
root's motion and the joints: with p and R its place and axes in the root's frame, w the root's rate and s its specific
force,

    R f = s + w' x p + w x (w x p) + 2 w x p' + p''

An IMU has biases b, c and errors of scale and mounting M, and a foot rocks a little, by angles a = integral of R'(w +
joints' rates); to first order f = g - a x g, so that what is left in

    f + a x f0 = g + R' b + R' M s + (integral of R' c) x f0 + r,   f0 the mean of f

by robust least squares over a stretch, with what is known of such errors, is the contact's own acceleration r. Its
velocity is not observable; but a slip begins and ends at rest, and goes the distance d = - integral of (t - t0) r dt,
whatever t0. That integral over a second, faded out at both ends, is the distance of any slip inside it, and knows no
bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.signal import oaconvolve

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.reason import Reason
from heft.identify.data import Survey
from heft.identify.information.fit_data import FitData
from heft.identify.robot.wrench_sensor import WrenchSensor

__all__ = ["resting_contacts"]

TURNS = 0.05  # [rad/s], rms, of a contact that should rest
SLIDES_M = (
    0.01  # and at least `APART` times the median, which is what errors of kinematics and IMU look like,
)
ALWAYS_M = (
    0.03  # unless that is more: IMUs that are off by 1 % reach 0.012 on a humanoid that stands and swings
)
APART = 4.0  # six standard deviations of white noise
CORE_S = 1.0  # a slip that takes as long is measured in full
FADE_S = 1.0
STRETCH_S = 60.0  # looked at together
SHORTEST_S = 6.0
KNOWN = (100.0, 0.3, 0.02, 0.02)  # standard deviations of g [m/s2], b [m/s2], M, and c [rad/s]
ROUNDS = 10  # of reweighting: a slip is no error of the IMU
FAR = 6.0  # times the median of what is left: without a weight there


@dataclass(frozen=True)
class _Stretch:
    """A contact over a stretch without a gap: how it turns (K, 3) [rad/s], and what slips would have gone (L, 3) [m].

    starts   time of the first of these [s]
    """

    turning: Array
    gone: Array
    start_s: float
    step_s: float


def resting_contacts(data: FitData) -> list[Reason]:
    """Contacts with `rest: true` that turn, or slide, by the root's motion and the joints."""
    robot, found = data.robot, []
    if not robot.tree.free:
        return []
    for name, sensor in robot.sensors.items():
        if not (sensor.contact and sensor.rest and sensor.link >= 0):
            continue
        parts = [part for one in data.surveys for part in _stretches(data, one, sensor)]
        if not parts:
            continue
        speed = float(np.sqrt(np.mean(np.concatenate([(one.turning**2).sum(axis=1) for one in parts]))))
        if speed > TURNS:
            text = (
                f"contact {name} is said to rest, and turns at {speed:.2g} rad/s (rms), at most {TURNS:g}: "
                "a foot that slips or tips, or a wrong frame; leave those parts out, or take `rest` out"
            )
            found.append(Reason("contact-moves", "care", text, 200.0 + speed, (name,)))
        else:
            found += _slides(name, [one for one in parts if len(one.gone)])
    return found


def _slides(name: str, parts: list[_Stretch]) -> list[Reason]:
    """Where a contact slides further than errors of the measurement look like."""
    if not parts:
        return []
    gone = [np.linalg.norm(one.gone, axis=1) for one in parts]
    usual = float(np.median(np.concatenate(gone)))
    least = SLIDES_M if usual > ALWAYS_M else max(SLIDES_M, APART * usual)
    slips = [slip for one, far in zip(parts, gone, strict=True) for slip in _slips(one, far, least)]
    if not slips:
        return []
    longest = max(far for _, far in slips)
    at = ", ".join(f"{1e2 * far:.1f} cm at {when:.1f} s" for when, far in slips[:3])
    at += f" and {len(slips) - 3} times more" if len(slips) > 3 else ""
    at = "it never rests" if usual > ALWAYS_M else at  # and no distance is one of a slip
    text = (
        f"contact {name} is said to rest, and slides: {at}, by the root's motion and the joints (at most "
        f"{1e2 * least:.2g} cm; usually it seems to go {1e2 * usual:.1g} cm): a foot that slips or steps, or a wrong "
        "frame; leave those parts out, or take `rest` out"
    )
    return [Reason("contact-slides", "care", text, 200.0 + longest, (name,))]


def _slips(part: _Stretch, far: Array, least: float) -> Iterator[tuple[float, float]]:
    """When each slip of a stretch was [s], and how far it went [m]; what is nearer than the integral is long is one."""
    above = np.flatnonzero(far > least)
    breaks = np.flatnonzero(np.diff(above) * part.step_s > CORE_S + 2 * FADE_S) + 1
    for group in np.split(above, breaks) if len(above) else []:
        top = group[far[group] > 0.9 * far[group].max()]
        yield part.start_s + part.step_s * float(top.mean()), float(far[group].max())


def _stretches(data: FitData, survey: Survey, sensor: WrenchSensor) -> Iterator[_Stretch]:
    """A contact in one dataset, by stretches of `STRETCH_S`; those that are too short are left out."""
    one, step = survey.data, survey.sampling.step_s
    if one.base is None and one.imu is None:
        return
    half = data.processing.differentiator(1 / step).half
    for piece in survey.sampling.pieces:
        count = piece.count - 2 * half
        if count * step < SHORTEST_S:
            continue
        parts = max(1, round(count * step / STRETCH_S))
        for k in range(parts):
            start, stop = half + k * count // parts, half + (k + 1) * count // parts
            motion = data.processing.differentiator(1 / step)
            q, dq, _ = one.kinematics(piece, step, start, stop, motion)
            root = one.root(data.robot, piece, step, start, stop, motion)
            assert root is not None
            turning, gone = _moved(data, sensor, q, dq, root, step)
            late = (stop - start - len(gone)) // 2
            yield _Stretch(turning, gone, piece.start_s + step * (start + late), step)


def _moved(
    data: FitData, sensor: WrenchSensor, q: Array, dq: Array, root: Array, step_s: float
) -> tuple[Array, Array]:
    """Rates of a contact (K, 3) and distances of slips (L, 3), in its axes, from joints (n, K) and the root (9, K)."""
    tree = data.robot.tree
    rate, spin, felt = (part.T for part in np.split(root, 3))
    turn, place = tree.link_pose(sensor.link, q)
    p, R = place + turn @ sensor.place[:3, 3], turn @ sensor.place[:3, :3]
    inward = np.swapaxes(R, 1, 2)

    def seen(vectors: Array) -> Array:
        return np.asarray((inward @ vectors[:, :, None])[:, :, 0])

    whole = rate.copy()
    for joint in tree.support(sensor.link):
        rotation, _ = tree.link_pose(joint, q)
        whole += (rotation @ tree.screws[joint, :3]) * dq[joint][:, None]
    turning = seen(whole)

    first = np.gradient(p, step_s, axis=0)
    second = np.zeros_like(p)
    second[1:-1] = (p[2:] - 2 * p[1:-1] + p[:-2]) / step_s**2
    moved = np.cross(spin, p) + np.cross(rate, np.cross(rate, p)) + 2 * np.cross(rate, first) + second
    f = seen(felt + moved)
    f0 = f.mean(axis=0)
    rocked = f + np.cross(step_s * np.cumsum(turning - turning.mean(axis=0), axis=0), f0)
    columns = [np.broadcast_to(np.eye(3), R.shape), inward]
    columns += [inward * felt[:, None, k : k + 1] for k in range(3)]
    columns.append(np.cross(step_s * np.cumsum(inward, axis=0), f0, axisa=1).swapaxes(1, 2))
    table = np.concatenate(columns, axis=2)
    flat = (table * np.repeat(KNOWN, 3 * np.array([1, 1, 3, 1]))).reshape(-1, table.shape[2])
    together = max(1.0, 0.5 / (data.processing.cutoff_hz * step_s))  # samples that the low-pass makes one of
    left, weight = rocked - f0, np.ones(len(rocked))
    for _ in range(ROUNDS):  # bisquare, by each instant's three numbers together
        usual = max(float(np.median(np.linalg.norm(left, axis=1))), 1e-9)
        weight = np.clip(1 - (np.linalg.norm(left, axis=1) / (FAR * usual)) ** 2, 0.0, None) ** 2
        weighed = flat * (np.repeat(weight, 3) / (together * usual**2))[:, None]
        answer = np.linalg.solve(weighed.T @ flat + np.eye(flat.shape[1]), weighed.T @ rocked.ravel())
        left = (rocked.ravel() - flat @ answer).reshape(-1, 3)
    kernel = _kernel(step_s)
    if len(left) <= len(kernel) + 2:
        return turning, np.zeros((0, 3))
    gone = oaconvolve(left[1:-1], kernel[:, None], mode="valid", axes=0)
    return turning, np.asarray(gone)


def _kernel(step_s: float) -> Array:
    """t0 - t in the middle second, faded out beyond, times the step: [m] of accelerations [m/s2]."""
    half = round((CORE_S / 2 + FADE_S) / step_s)
    t = step_s * np.arange(-half, half + 1)
    beyond = np.clip((np.abs(t) - CORE_S / 2) / FADE_S, 0.0, 1.0)
    shape = np.clip(t, -CORE_S / 2, CORE_S / 2) * 0.5 * (1 + np.cos(np.pi * beyond))
    return np.asarray(shape * step_s)  # a convolution turns the time round
