"""What earlier sessions have told already: their information is added to that of the motion to be designed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError
from heft.identify.excitation.request import DesignRequest
from heft.identify.result import Result, load

__all__ = ["given_information"]

UNKNOWN = 1e12  # times the largest variance: a parameter that earlier sessions tell nothing of


def given_information(
    request: DesignRequest, files: Sequence[Path], read: Callable[[Path], Result] = load
) -> DesignRequest:
    """The request with the information of earlier sessions about its base parameters, and their noise.

    files   results (`result.json`), or what else `read` makes a result of

    A result's information is the inverse of the covariance of those base parameters that it shares with the request by
    name (friction that was chosen from data may have added others, which are left to it).
    """
    if request.target != "links":
        raise ProblemError(
            "--given: only a design for links adds to earlier results; leave it out for a payload"
        )
    names = request.base.names
    total = np.zeros((len(names), len(names)))
    noise = []
    for path in files:
        result = read(path)
        if result.robot.joints != request.limits.axes:
            raise ProblemError(
                f"--given {path}: a result of {result.robot.name} with the joints {', '.join(result.robot.joints)}; "
                "give results of this robot"
            )
        total += (
            _information(result, names, path) if request.support is None else _at_rest(result, request, path)
        )
        noise.append(_noise(result, request.rate_hz))
    known = np.sqrt(np.mean(np.square(noise), axis=0))
    return replace(request, given=total, noise=known if request.noise is None else request.noise)


def _noise(result: Result, rate_hz: float) -> Array:
    """White noise at `rate_hz` that tells as much as a result's rows, which are fewer and filtered [N m] (n,)."""
    seconds = sum(origin.duration_s for origin in result.provenance.data)
    measured = result.fit.rows > 0
    return np.asarray(np.sqrt(rate_hz * seconds / (result.fit.rows * result.weights)[measured]))


def _at_rest(result: Result, request: DesignRequest, path: Path) -> Array:
    """The information about base parameters that show while a free root rests: combinations of the result's own."""
    if result.robot.parameter_names != request.robot.parameter_names:
        raise ProblemError(
            f"--given {path}: identified from {', '.join(result.robot.sources or ('joints',))}, and this design is for "
            f"{', '.join(request.robot.sources or ())}; give results of the same sensors"
        )
    covariance = result.base.covariance.copy()
    known = np.isfinite(np.diag(covariance))
    covariance[~known, :] = covariance[:, ~known] = 0.0
    covariance[~known, ~known] = UNKNOWN * np.diag(covariance).max()
    A = np.linalg.lstsq(result.base.matrix.T, request.base.matrix.T, rcond=None)[0].T
    combined = A @ covariance @ A.T
    size = np.sqrt(np.diag(combined))
    return np.asarray(np.linalg.pinv(combined / np.outer(size, size), rcond=1e-12) / np.outer(size, size))


def _information(result: Result, names: tuple[str, ...], path: Path) -> Array:
    place = {name: k for k, name in enumerate(result.base.names)}
    variance = np.diag(result.base.covariance)
    shared = [k for k, name in enumerate(names) if name in place and np.isfinite(variance[place[name]])]
    if not shared:
        raise ProblemError(
            f"--given {path}: none of its base parameters is one of {len(names)} of this robot's file; "
            "give a result that was identified with the same file"
        )
    theirs = [place[names[k]] for k in shared]
    covariance = result.base.covariance[np.ix_(theirs, theirs)]
    size = np.sqrt(np.diag(covariance))
    F = np.zeros((len(names), len(names)))
    F[np.ix_(shared, shared)] = np.linalg.pinv(covariance / np.outer(size, size), rcond=1e-12) / np.outer(
        size, size
    )
    return F
