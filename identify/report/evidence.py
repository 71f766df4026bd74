"""What a report shows beside the result: torques measured and predicted, and how the data were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from daq.recording import Recording
from identify.arrays import Array
from identify.dataset import Dataset
from identify.recorded import IDENTIFICATION, VALIDATION
from identify.report.acquisition import Acquisition
from identify.result import Parameters, Prediction, Result

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
    def of(cls, result: Result, data: Dataset, use: Use) -> Motion:
        """Predict a dataset."""
        start = float(data.t[0])
        shown = data if data.duration_s <= LONGEST_S else data.between(start, start + LONGEST_S)
        prior = None
        if result.prior is not None:
            before = replace(result, parameters=Parameters(result.layout, result.prior))
            prior = before.predict(shown).predicted
        return cls(
            use,
            data.source,
            data.duration_s,
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
    def of(cls, result: Result, seen: Iterable[Dataset], unseen: Iterable[Dataset] = ()) -> Evidence:
        """From the datasets of a fit and of its validation; looked at one after the other."""
        motions = [Motion.of(result, data, "unseen") for data in unseen]
        motions += [Motion.of(result, data, "seen") for data in seen]
        return cls(tuple(motions))

    @classmethod
    def of_recordings(cls, result: Result, files: Sequence[Path], validate: Path | None = None) -> Evidence:
        """From the recordings that `identify_recordings` was given."""
        recordings = [Recording.open(file) for file in files]
        unseen: Iterable[Dataset]
        if validate is not None:
            recordings.append(Recording.open(validate))
            unseen = [_dataset(validate, result, None)]
        else:
            marked = [r.path for r in recordings if any(s.use == VALIDATION for s in r.segments)]
            unseen = (_dataset(file, result, VALIDATION) for file in marked)
        seen = (_dataset(file, result, IDENTIFICATION) for file in files)
        every = {recording.path: recording for recording in recordings}
        return replace(
            cls.of(result, seen, unseen), recordings=tuple(Acquisition.of(one) for one in every.values())
        )


def _dataset(file: Path, result: Result, use: str | None) -> Dataset:
    return replace(Dataset.from_recording(file, result.robot, use), source=file.name)
