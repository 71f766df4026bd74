"""What each of several recordings has of its own: torque offsets, delay, known load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.interval import Interval
from heft.identify.data import Dataset
from heft.identify.estimation.alignment import Delay
from heft.identify.information.fit_data import FitData

__all__ = ["RecordingTerms", "mean_delay", "recording_terms", "widened_offsets"]


@dataclass(frozen=True)
class RecordingTerms:
    """One of several recordings.

    source    name of its file; `arrays` where there is none
    hashes    of its datasets
    digest    of the recording's samples; empty for arrays
    offsets   torque offset by joint [N m, N]
    delay     of its torques against positions
    load      known load on the flange: mass, centre, xx, xy, yy, xz, yz, zz about it (`KnownLoad.numbers`); or None
    """

    source: str
    hashes: tuple[str, ...]
    digest: str
    offsets: Mapping[str, float]
    delay: Delay
    load: tuple[float, ...] | None = None

    def of(self, data: Dataset) -> bool:
        """Whether `data` are this recording's."""
        return data.part_of == self.digest if self.digest else data.fingerprint in self.hashes

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "source": self.source,
            "hashes": list(self.hashes),
            "digest": self.digest,
            "offsets": dict(self.offsets),
            "delay": self.delay.to_dict(),
            "load": None if self.load is None else list(self.load),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        load = None if data["load"] is None else tuple(data["load"])
        delay = Delay.from_dict(data["delay"])
        return cls(data["source"], tuple(data["hashes"]), data["digest"], dict(data["offsets"]), delay, load)


def recording_terms(data: FitData, parameters: Array, delays: Sequence[Delay]) -> tuple[RecordingTerms, ...]:
    """Of every recording of a fit with these parameters (p,); empty where there is but one."""
    if data.recording_count == 1:
        return ()
    places = {name: i for i, name in enumerate(data.robot.parameter_names)}
    joints = {joint: j for j, joint in enumerate(data.robot.rows) if f"{joint}.offset" in places}
    mean = {joint: float(parameters[places[f"{joint}.offset"]]) for joint in joints}
    away = _own_offsets(data, parameters)
    terms = []
    for number in range(data.recording_count):
        parts = [one for one, of in zip(data.datasets, data.recordings, strict=True) if of == number]
        terms.append(
            RecordingTerms(
                source=parts[0].source,
                hashes=tuple(part.fingerprint for part in parts),
                digest=parts[0].part_of,
                offsets={joint: mean[joint] + float(away[number, j]) for joint, j in joints.items()},
                delay=delays[number if len(delays) > 1 else 0],
                load=None if parts[0].load is None else parts[0].load.numbers,
            )
        )
    return tuple(terms)


def _own_offsets(data: FitData, parameters: Array) -> Array:
    """What each recording's offsets differ by from their mean [N m, N], shape (recordings, n); zero where common."""
    away = np.zeros((data.recording_count, len(data.robot.rows)))
    if not data.own_offsets:
        return away
    like = next(iter(data.blocks()))
    assert data.means is not None
    means = data.means.block(like)
    dataset_of = {recording: dataset for dataset, recording in enumerate(data.recordings)}
    for number in range(data.recording_count):
        group = data.delay_group(dataset_of[number])
        row = means.aligned(data.delays_s[group] - data.rows_delays_s[group])
        residual = row.torque - row.predict(parameters)
        away[number] = np.where(data.means.own & means.keep[number], residual[number], 0.0)
    return away


def mean_delay(delays: Sequence[Delay]) -> Delay:
    """One for all recordings: their mean by certainty, with an interval that covers each one's."""
    if len(delays) == 1:
        return delays[0]
    values, std = np.array([[one.value_s, one.std_s] for one in delays]).T
    share = 1 / np.maximum(std, 1e-9) ** 2
    value = float(share @ values / share.sum())
    spread = float(np.sqrt((std**2).mean() + values.var(ddof=1)))
    low, high = min(one.low_s for one in delays), max(one.high_s for one in delays)
    return replace(delays[0], value_s=value, std_s=spread, low_s=low, high_s=high, windows=())


def widened_offsets(
    intervals: Mapping[str, Interval], terms: Sequence[RecordingTerms]
) -> dict[str, Interval]:
    """Intervals in which those of offsets cover what recordings differ by."""
    wider = dict(intervals)
    for joint in terms[0].offsets if terms else ():
        name, own = f"{joint}.offset", np.array([one.offsets[joint] for one in terms])
        if name not in wider or np.ptp(own) == 0.0:
            continue
        one = wider[name]
        std = float(np.hypot(one.std, own.std(ddof=1)))
        factor = std / one.std if one.std > 0 else 1.0
        low = min(one.value - factor * (one.value - one.low), float(own.min()))
        high = max(one.value + factor * (one.high - one.value), float(own.max()))
        wider[name] = replace(one, std=std, low=low, high=high)
    return wider
