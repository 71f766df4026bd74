"""The load while it is carried: samples in, at any moment an estimate that can exist out.

Samples are taken in chunks of fixed length, whatever the blocks they arrive in, so the result does not depend on
how they were cut. While the gripper is empty they tell the biases; at a pick-up the load's unknowns start afresh
and the biases are carried over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.optimiser import SEARCH, maximise, start_from
from heft.identify.payload.estimation.sample_chunks import LEAST_CHUNK, Chunker
from heft.identify.payload.estimation.track import NOISE_RULES, ChunkRows, Track
from heft.identify.payload.estimation.uncertainty import (
    concluded,
    data_precision,
    inverse,
    representable,
    with_doubt,
    y_columns,
)
from heft.identify.payload.estimation.unknowns import LinearInformation, Point, Unknowns

__all__ = ["LoadEstimator"]


class LoadEstimator(ABC):
    """What the estimators from a wrist sensor and from joint torques have in common.

    `tracks` with the columns of each that belong to the load; `frame` that the load is reported in; `memory_s`: the
    information fades by 1/e in this time; `chunk`: samples taken at a time.
    """

    def __init__(
        self,
        tracks: Sequence[tuple[Track, slice]],
        *,
        frame: str,
        memory_s: float,
        chunk: int,
        unknowns: Unknowns,
        bias_sign: float = 1.0,
    ) -> None:
        if not memory_s > 0 or chunk < LEAST_CHUNK:
            raise ProblemError(
                f"memory_s {memory_s:g} must be above zero and chunk {chunk} at least {LEAST_CHUNK}"
            )
        self._tracks = tuple(track for track, _ in tracks)
        self._of_load = tuple(columns for _, columns in tracks)
        self._frame, self._memory_s, self._bias_sign = frame, memory_s, bias_sign
        self._unknowns = unknowns
        self._chunker = Chunker(chunk)
        self._time: float | None = None
        self._loaded = False
        self._samples = 0
        self._prior = ObjectPrior()
        self._point: Point | None = None  # that the last estimate was made at

    @property
    def loaded(self) -> bool:
        """Whether samples are those of a load."""
        return self._loaded

    @property
    def samples(self) -> int:
        """Of the load, so far."""
        return self._samples if self._loaded else 0

    def grasped(self, prior: ObjectPrior | None = None, *, chunk: int | None = None) -> None:
        """From the next sample on the gripper holds an object, of which `prior` is known (in this frame).

        `chunk`: samples that are taken at a time from now on.
        """
        self.released()
        if chunk is not None:
            self._chunker = self._chunker.of_size(chunk)
        self._loaded, self._samples = True, 0
        self._prior, self._point = prior or ObjectPrior(), None

    def released(self) -> None:
        """From the next sample on the gripper is empty; what was learned of the biases is kept."""
        rest = self._chunker.rest()
        if rest is not None:
            self._take(rest)
        if self._loaded:
            for track, columns in zip(self._tracks, self._of_load, strict=True):
                track.forget(columns)
        self._loaded = False

    def estimate(self, *, rough: bool = False) -> PayloadEstimate:
        """The load as known now; with no sample yet it is the prior. `rough`: soon, to some hundredths of a sigma."""
        if not self._loaded:
            raise ProblemError("no load to estimate: the gripper is empty; call grasped() at the pick-up")
        decrement = SEARCH.rough if rough else SEARCH.fine
        start = self._start() if self._point is None else self._point
        if self._prior.dimensions is not None or self._prior.density is not None:
            # A shape that is far from the object's would take the data for noise: what noise is, they say without it.
            start, _ = self._search(self._prior.without_shape, start, decrement)
        self._point, information = self._search(self._prior, start, decrement)
        return self._estimate(self._point, information)

    def _search(
        self, prior: ObjectPrior, point: Point, decrement: float
    ) -> tuple[Point, list[LinearInformation]]:
        """The most probable point, from `point`, and the information with what it says of noise."""
        information = [track.information(point) for track in self._tracks]
        for done in range(SEARCH.passes):
            point = maximise(information, prior, point, self._unknowns, decrement=decrement)
            for track in self._tracks:
                track.judge(point)
            before, information = information, [track.information(point) for track in self._tracks]
            pairs = list(zip(before, information, strict=True))
            same = all(
                np.array_equal(a.z, b.z) for a, b in pairs
            )  # nothing was taken from the estimate itself
            if (same or done > 0) and all(_settled(a, b) for a, b in pairs):
                break
        return representable(point), information

    def _estimate(self, point: Point, information: Sequence[LinearInformation]) -> PayloadEstimate:
        """The estimate at a point, with its uncertainty."""
        unknowns, tracks = self._unknowns, self._tracks
        scale = self._prior.scale(point.body.mass, float(point.body.moments.max()))
        columns = y_columns(point, unknowns)
        precision = data_precision(information, point, columns)
        covariance = with_doubt(
            information, point, columns, inverse(precision + unknowns.prior_precision(scale))
        )
        biases = [track.bias(point, covariance, columns) for track in tracks]
        return concluded(
            point,
            unknowns,
            scale,
            covariance,
            self._bias_sign * np.concatenate([value for value, _ in biases]),
            np.concatenate([std for _, std in biases]),
            frame=self._frame,
            samples=self._samples,
            time=self._time,
            noise=tuple(track.noise for track in tracks),
            warnings=_warnings(max(track.noise for track in tracks) ** 0.5),
        )

    def _add(self, table: Array) -> None:
        """Samples (N, k), time first."""
        chunks = self._chunker.add(table)
        if chunks is not None:
            self._take(chunks)

    def _take(self, chunks: Array) -> None:
        """Chunks (parts, n, k) into the tracks."""
        stamps = chunks[:, :, 0]
        for part, blocks in enumerate(self._blocks(chunks)):
            now = float(stamps[part, -1])
            elapsed = now - (self._time if self._time is not None else float(stamps[part, 0]))
            self._time = now
            fading = float(np.exp(-elapsed / self._memory_s))
            for track, block in zip(self._tracks, blocks, strict=True):
                track.take(block, elapsed=elapsed, forgetting=fading, loaded=self._loaded)
        if self._loaded:
            self._samples += stamps.size

    @abstractmethod
    def _blocks(self, chunks: Array) -> Sequence[Sequence[ChunkRows]]:
        """For each chunk (parts, n, k) what each track takes in."""

    def _start(self) -> Point:
        """Where the first search begins."""
        return start_from(self._prior, self._first_gravity())

    @abstractmethod
    def _first_gravity(self) -> Array:
        """Gravity to begin from."""


def _settled(before: LinearInformation, after: LinearInformation) -> bool:
    return max(before.noise, after.noise) < NOISE_RULES.same * min(before.noise, after.noise)


def _warnings(times: float) -> tuple[str, ...]:
    """`times` the noise that was expected are left."""
    if times < NOISE_RULES.unlikely:
        return ()
    return (
        f"what is left when the load is taken off is {times:.0f} times the noise (bound {NOISE_RULES.unlikely:.0f}): "
        "no rigid load explains it, so values may be off by more than their intervals; do joints bend, does it swing "
        "or touch something, is the arm another one than was identified?",
    )
