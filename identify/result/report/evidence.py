"""What a report shows beside the result: torques measured and predicted, and how the data were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from heft.daq.recording import Recording
from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset
from heft.identify.data.from_recording import AROUND_NS, IDENTIFICATION, VALIDATION, sections
from heft.identify.errors import DataError
from heft.identify.result import Parameters, Prediction, Result
from heft.identify.result.report.acquisition import Acquisition

__all__ = ["Evidence", "Motion"]

Use = Literal["seen", "unseen"]
#: Of a long motion only the beginning is shown [s].
LONGEST_S = 120.0


@dataclass(frozen=True, eq=False)
class Motion:
    """One stretch of data and what the model makes of its beginning.

    use          `seen` by the fit, or `unseen`: for validation
    source       where the data come from
    duration_s   of all of it [s]; `shown_s` of what is shown
    prior        torques of the parameters known beforehand [N m, N], shape (K, n), or None
    posture      about which the joints move [rad, m], shape (n,)
    """

    use: Use
    source: str
    duration_s: float
    shown_s: float
    prediction: Prediction
    prior: Array | None
    posture: Array

    @classmethod
    def of(cls, result: Result, data: Dataset, use: Use, duration_s: float | None = None) -> Motion:
        """Predict a dataset, which may be the beginning of one that lasts `duration_s`."""
        start = float(data.t[0])
        shown = data if data.duration_s <= LONGEST_S else data.between(start, start + LONGEST_S)
        prior = None
        if result.prior is not None:
            before = replace(result, parameters=Parameters(result.layout, result.prior))
            prior = before.predict(shown).predicted
        return cls(
            use,
            data.source,
            data.duration_s if duration_s is None else duration_s,
            shown.duration_s,
            result.predict(shown),
            prior,
            np.median(np.asarray(shown.q, dtype=np.float64), axis=0),
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """Motions in the order they are shown, and the recordings they come from."""

    motions: tuple[Motion, ...] = ()
    recordings: tuple[Acquisition, ...] = ()

    @classmethod
    def of(cls, result: Result, seen: Sequence[Dataset], unseen: Sequence[Dataset] = ()) -> Evidence:
        """From the datasets of a fit and of its validation."""
        motions = [Motion.of(result, data, "unseen") for data in unseen]
        motions += [Motion.of(result, data, "seen") for data in seen]
        return cls(tuple(motions))

    @classmethod
    def of_recordings(
        cls, result: Result, recordings: Sequence[Recording], validate: Sequence[Recording] = ()
    ) -> Evidence:
        """From the recordings that `identify_recordings` was given."""
        if not validate:
            marked = [one for one in recordings if any(s.use == VALIDATION for s in one.segments)]
            motions = [_motion(result, one, "unseen", VALIDATION) for one in marked]
            every = list(recordings)
        else:
            motions = [_motion(result, one, "unseen", None) for one in validate]
            every = list(dict.fromkeys([*recordings, *validate]))
        motions += [_motion(result, one, "seen", IDENTIFICATION) for one in recordings]
        return cls(tuple(motions), tuple(Acquisition.of(one) for one in every))


def _motion(result: Result, recording: Recording, use: Use, segments: str | None) -> Motion:
    """The beginning of the segments for a purpose; of a long session no more is read than its first section."""
    wanted = segments or IDENTIFICATION
    parts = sections(recording.segments, wanted)
    if len(parts) <= 1:
        data = Dataset.from_recording(recording, result.robot, segments)
        return Motion.of(result, _known(result, recording, data), use)
    seconds = sum((s.end_ns - s.start_ns) * 1e-9 for s in recording.segments if s.use == wanted)
    for start_ns, end_ns in parts:
        with suppress(DataError):  # nothing moves there, or nothing came
            data = Dataset.from_recording(recording.part(start_ns, end_ns, AROUND_NS), result.robot, segments)
            return Motion.of(result, _known(result, recording, data), use, seconds)
    raise DataError(f"{recording.path}: no section for {wanted} can be used")


def _known(result: Result, recording: Recording, data: Dataset) -> Dataset:
    """The data with their recording's name, digest and known load."""
    named = replace(data, source=recording.path.name, part_of=recording.digest)
    load = result.provenance.load_of(recording)
    return named if load is None else named.loaded(load)
