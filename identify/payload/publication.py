"""From what the tracks know to an estimate that can be published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from identify.arrays import frozen
from identify.payload.covariance import (
    data_precision,
    doubtful,
    free_columns,
    gravity_spread,
    inverse,
    kept_inside,
    prior_precision,
)
from identify.payload.estimate import PayloadEstimate
from identify.payload.posterior import FINE, ROUGH, Evidence, Point, maximise
from identify.payload.prior import ObjectPrior
from identify.payload.track import Track

__all__ = ["Publication", "publish"]

_PASSES = 8  # each with what the one before said of noise and of unexcited directions
_SAME_NOISE = 2.0  # a factor in the noise that hardly moves an estimate
_UNLIKELY = 10.0  # times the noise that was expected: something else than noise


@dataclass(frozen=True)
class Publication:
    """An estimate, and the point that the next one starts from."""

    estimate: PayloadEstimate
    point: Point


def publish(
    tracks: Sequence[Track],
    prior: ObjectPrior,
    start: Point,
    *,
    frame: str,
    delay_std: float | None,
    free_gravity: bool,
    bias_sign: float,
    samples: int,
    time: float | None,
    rough: bool = False,
) -> Publication:
    """The most probable load, with its uncertainty, from `start`; `rough`: soon rather than to the last digit."""
    point = start
    evidence = [track.evidence(point) for track in tracks]
    for done in range(_PASSES):
        point = maximise(
            evidence,
            prior,
            point,
            delay_std=delay_std,
            free_gravity=free_gravity,
            decrement=ROUGH if rough else FINE,
        )
        for track in tracks:
            track.judge(point)
        before, evidence = evidence, [track.evidence(point) for track in tracks]
        pairs = list(zip(before, evidence, strict=True))
        same = all(np.array_equal(a.z, b.z) for a, b in pairs)  # nothing was taken from the estimate itself
        if (same or done > 0) and all(_settled(a, b) for a, b in pairs):
            break
    point = Point(kept_inside(point.body), point.delay, point.gravity)
    scale = prior.scale(point.body.mass, float(point.body.moments.max()))
    columns = free_columns(point, delayed=delay_std is not None, free_gravity=free_gravity)
    precision = data_precision(evidence, point, columns)
    covariance = inverse(precision + prior_precision(scale, delay_std=delay_std, free_gravity=free_gravity))
    covariance = doubtful(evidence, point, columns, covariance)
    biases = [track.bias(point, covariance, columns) for track in tracks]
    covariance, gravity_std = gravity_spread(point, covariance, free_gravity)
    return Publication(
        PayloadEstimate(
            frame=frame,
            body=point.body,
            covariance=frozen(covariance[:10, :10]),
            scale=scale,
            bias=frozen(bias_sign * np.concatenate([value for value, _ in biases])),
            bias_std=frozen(np.concatenate([std for _, std in biases])),
            gravity=frozen(point.gravity),
            gravity_std=frozen(gravity_std),
            delay=point.delay,
            delay_std=0.0 if delay_std is None else float(np.sqrt(covariance[10, 10])),
            samples=samples,
            time=time,
            noise=tuple(track.noise for track in tracks),
            warnings=_warnings(max(track.noise for track in tracks) ** 0.5),
        ),
        point,
    )


def _warnings(times: float) -> tuple[str, ...]:
    """`times` the noise that was expected are left."""
    if times < _UNLIKELY:
        return ()
    return (
        f"what is left when the load is taken off is {times:.0f} times the noise (bound {_UNLIKELY:.0f}): no rigid "
        "load explains it, so values may be off by more than their intervals; do joints bend, does it swing or touch "
        "something, is the arm another one than was identified?",
    )


def _settled(before: Evidence, after: Evidence) -> bool:
    return max(before.noise, after.noise) < _SAME_NOISE * min(before.noise, after.noise)
