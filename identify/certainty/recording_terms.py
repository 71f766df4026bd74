"""What each of several recordings has of its own: torque offsets, drifts of sensors, delay, known load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.certainty.interval import Interval
from heft.identify.data import Dataset
from heft.identify.estimation.alignment import Delay
from heft.identify.information.fit_data import FitData
from heft.identify.robot.regressor import BIAS_TERMS

__all__ = ["RecordingTerms", "mean_delay", "recording_terms", "widened_biases"]


@dataclass(frozen=True)
class RecordingTerms:
    """One of several recordings.

    source    name of its file; `arrays` where there is none
    hashes    of its datasets
    digest    of the recording's samples; empty for arrays
    offsets   torque offset by joint, and of each number of a sensor [N m, N]
    drifts    of these numbers [N m/s, N/s]
    delay     of its torques against positions
    load      known load on the flange: mass, centre, xx, xy, yy, xz, yz, zz about it (`KnownLoad.numbers`); or None
    """

    source: str
    hashes: tuple[str, ...]
    digest: str
    offsets: Mapping[str, float]
    delay: Delay
    load: tuple[float, ...] | None = None
    drifts: Mapping[str, float] = field(default_factory=dict)

    @property
    def biases(self) -> dict[str, float]:
        """Offsets and drifts by the names of their parameters."""
        terms = zip(BIAS_TERMS, (self.offsets, self.drifts), strict=True)
        return {f"{row}.{term}": value for term, own in terms for row, value in own.items()}

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
            **({"drifts": dict(self.drifts)} if self.drifts else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        load = None if data["load"] is None else tuple(data["load"])
        delay = Delay.from_dict(data["delay"])
        return cls(
            data["source"],
            tuple(data["hashes"]),
            data["digest"],
            dict(data["offsets"]),
            delay,
            load,
            dict(data.get("drifts", {})),
        )


def recording_terms(data: FitData, parameters: Array, delays: Sequence[Delay]) -> tuple[RecordingTerms, ...]:
    """Of every recording of a fit with these parameters (p,); empty where there is but one."""
    if data.recording_count == 1:
        return ()
    places = {name: i for i, name in enumerate(data.robot.parameter_names)}
    away, terms = _own_biases(data, parameters), []

    def own(bias: int, number: int) -> dict[str, float]:
        names = {row: f"{row}.{BIAS_TERMS[bias]}" for row in data.robot.rows}
        return {
            row: float(parameters[places[name]]) + float(away[bias, number, j])
            for j, (row, name) in enumerate(names.items())
            if name in places
        }

    for number in range(data.recording_count):
        parts = [one for one, of in zip(data.datasets, data.recordings, strict=True) if of == number]
        terms.append(
            RecordingTerms(
                source=parts[0].source,
                hashes=tuple(part.fingerprint for part in parts),
                digest=parts[0].part_of,
                offsets=own(0, number),
                drifts=own(1, number),
                delay=delays[number if len(delays) > 1 else 0],
                load=None if parts[0].load is None else parts[0].load.numbers,
            )
        )
    return tuple(terms)


def _own_biases(data: FitData, parameters: Array) -> Array:
    """What each recording's offsets and drifts differ by from their mean, (2, recordings, n); zero where common."""
    away = np.zeros((len(BIAS_TERMS), data.recording_count, len(data.robot.rows)))
    if not data.own_offsets:
        return away
    like = next(iter(data.blocks()))
    assert data.means is not None
    dataset_of = {recording: dataset for dataset, recording in enumerate(data.recordings)}
    for number in range(data.recording_count):
        group = data.delay_group(dataset_of[number])
        for bias in range(len(BIAS_TERMS)):
            means = data.means.block(like, bias)
            row = means.aligned(data.delays_s[group] - data.rows_delays_s[group])
            residual = row.torque - row.predict(parameters)
            away[bias, number] = np.where(means.keep[number], residual[number], 0.0)
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


def widened_biases(intervals: Mapping[str, Interval], terms: Sequence[RecordingTerms]) -> dict[str, Interval]:
    """Intervals in which those of offsets and drifts cover what recordings differ by."""
    wider = dict(intervals)
    for name in terms[0].biases if terms else ():
        own = np.array([one.biases[name] for one in terms])
        if name not in wider or np.ptp(own) == 0.0:
            continue
        one = wider[name]
        std = float(np.hypot(one.std, own.std(ddof=1)))
        factor = std / one.std if one.std > 0 else 1.0
        low = min(one.value - factor * (one.value - one.low), float(own.min()))
        high = max(one.value + factor * (one.high - one.value), float(own.max()))
        wider[name] = replace(one, std=std, low=low, high=high)
    return wider
