"""Does the automatic cut-off predict motion that the fit has not seen as well as the best of eight fixed ones?

    python benchmarks/cutoff.py [--recordings panda ur10] [--method sdp]

On recordings of real robots (`recordings.py`); those that are missing are skipped, with a word. The first 67 % are
fitted, the last 33 % predicted (another run, where each run is one motion).

`Result.relative_error` filters with the result's own cut-off, so that a low cut-off has an easy examination. Here every
result is examined alike: its parameters and its delay predict the unseen torques behind one low-pass, and the same for
all. Which low-pass is a matter of taste, so there are three: 5, 10 and 20 Hz, of which every arm must bear the first
two (drives are controlled up to there) and the last shows what is lost to vibration. A ratio is the automatic
choice's error over the least of the eight; its mean over the three counts. Exit code 1 where it exceeds 1.10.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from recordings import RECORDINGS, RealRecording

from heft.identify import Dataset, Processing, Result, fit
from heft.identify.errors import HeftError

FIXED_HZ = (2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0)
EXAMINED_HZ = (5.0, 10.0, 20.0)
WORST = 1.10


def examined(result: Result, unseen: Sequence[Dataset]) -> np.ndarray:
    """Relative errors on unseen motion behind each of the three low-passes."""
    return np.array(
        [replace(result, processing=Processing(hertz)).relative_error(unseen).total for hertz in EXAMINED_HZ]
    )


def measured(recording: RealRecording, method: str) -> float:
    """Print the errors at all cut-offs; the automatic one's over the best."""
    robot, seen, errors = recording.robot, recording.fit, {}
    began = time.perf_counter()
    for cutoff_hz in FIXED_HZ:
        try:
            errors[cutoff_hz] = examined(fit(robot, seen, method, cutoff_hz=cutoff_hz), recording.unseen)
            print(f"{recording.name:10} {cutoff_hz:6.3g} Hz  {_percent(errors[cutoff_hz])}")
        except HeftError as exc:
            print(f"{recording.name:10} {cutoff_hz:6.3g} Hz  {exc}")
    try:
        result = fit(robot, seen, method)
    except HeftError as exc:
        print(f"{recording.name:10} automatic  {exc}", flush=True)
        return float("inf")
    own = examined(result, recording.unseen)
    ratio = float(np.mean(own / np.min(list(errors.values()), axis=0)))
    chosen_hz = result.processing.cutoff_hz
    print(f"{recording.name:10} {chosen_hz:6.3g} Hz  {_percent(own)}  automatic: {ratio:.3f} of the best")
    reason = "no trade-off" if result.tradeoff is None else result.tradeoff.reason
    print(f"{'':10} {reason} ({time.perf_counter() - began:.0f} s)", flush=True)
    return ratio


def _percent(errors: np.ndarray) -> str:
    return "  ".join(f"{100 * one:6.2f}" for one in errors)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recordings", nargs="+", choices=list(RECORDINGS), default=list(RECORDINGS))
    parser.add_argument("--method", default="sdp", help="estimator (default: sdp)")
    arguments = parser.parse_args()
    print(
        f"relative error on unseen motion [%], behind low-passes of {', '.join(map('{:g}'.format, EXAMINED_HZ))} Hz"
    )
    ratios = {}
    for name in arguments.recordings:
        try:
            recording = RECORDINGS[name]()
        except FileNotFoundError as exc:
            print(f"{name}: skipped, no {exc.filename}; set HEFT_DATA to the folder of the recordings")
            continue
        ratios[name] = measured(recording, arguments.method)
    if ratios:
        worst = max(ratios, key=lambda name: ratios[name])
        print(f"worst: {worst}, {ratios[worst]:.3f} of the best (at most {WORST:g})")
    return 0 if max(ratios.values(), default=0.0) <= WORST else 1


if __name__ == "__main__":
    sys.exit(main())
