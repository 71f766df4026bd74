"""The life of a recursive estimator: empty, grasped, released; samples in, estimates out.

Samples are taken in chunks of fixed length, whatever the blocks they arrive in, so the result does not depend on
how they were cut. While the gripper is empty they tell the biases; at a pick-up the load's unknowns start afresh
and the biases are carried over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from identify.arrays import Array
from identify.errors import ProblemError
from identify.payload.chunks import Chunker
from identify.payload.estimate import PayloadEstimate
from identify.payload.posterior import Point, start_from
from identify.payload.prior import ObjectPrior
from identify.payload.publication import Publication, publish
from identify.payload.track import Track

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
        delay_std: float | None = None,
        free_gravity: bool = False,
        bias_sign: float = 1.0,
    ) -> None:
        if not memory_s > 0 or chunk < 4:
            raise ProblemError(f"memory_s {memory_s:g} must be above zero and chunk {chunk} at least 4")
        self._tracks = tuple(track for track, _ in tracks)
        self._of_load = tuple(columns for _, columns in tracks)
        self._frame, self._memory_s, self._bias_sign = frame, memory_s, bias_sign
        self._delay_std, self._free_gravity = delay_std, free_gravity
        self._chunker = Chunker(chunk)
        self._time: float | None = None
        self._loaded = False
        self._samples = 0
        self._prior = ObjectPrior()
        self._published: Publication | None = None

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
        self._prior, self._published = prior or ObjectPrior(), None

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
        point = self._published.point if self._published else self._start()
        if self._prior.dimensions is not None or self._prior.density is not None:
            # A shape that is far from the object's would take the data for noise: what noise is, they say without it.
            point = self._publish(self._prior.without_shape, point, rough).point
        self._published = self._publish(self._prior, point, rough)
        return self._published.estimate

    def _publish(self, prior: ObjectPrior, start: Point, rough: bool) -> Publication:
        return publish(
            self._tracks,
            prior,
            start,
            frame=self._frame,
            delay_std=self._delay_std,
            free_gravity=self._free_gravity,
            bias_sign=self._bias_sign,
            samples=self._samples,
            time=self._time,
            rough=rough,
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
                track.take(*block, elapsed=elapsed, forgetting=fading, loaded=self._loaded)
        if self._loaded:
            self._samples += stamps.size

    @abstractmethod
    def _blocks(self, chunks: Array) -> Sequence[Sequence[tuple[Array, Array, Array, Array, Array]]]:
        """For each chunk and track the first arguments of `Track.take`."""

    def _start(self) -> Point:
        """Where the first search begins."""
        return start_from(self._prior, self._down())

    @abstractmethod
    def _down(self) -> Array:
        """Gravity to begin from."""
