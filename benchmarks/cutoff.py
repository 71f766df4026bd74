"""Does the automatic cut-off predict motion that the fit has not seen as well as the best of eight fixed ones?

    python benchmarks/cutoff.py [--only panda ur10] [--method sdp]

On recordings of real robots (`real_recordings.py`); those that are missing are skipped, with a word. The first 67 % are
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
from dataclasses import replace

import numpy as np
from real_recordings import RECORDINGS, folder

from heft.identify import Dataset, Processing, Result, fit
from heft.identify.errors import HeftError

FIXED_HZ = (2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0)
EXAMINED_HZ = (5.0, 10.0, 20.0)
WORST = 1.10


def examined(result: Result, unseen: Dataset) -> np.ndarray:
    """Relative errors on unseen motion behind each of the three low-passes."""
    return np.array(
        [replace(result, processing=Processing(hertz)).relative_error(unseen).total for hertz in EXAMINED_HZ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(RECORDINGS), default=list(RECORDINGS))
    parser.add_argument("--method", default="sdp", help="estimator (default: sdp)")
    arguments = parser.parse_args()
    worst = 0.0
    print(
        "relative error on unseen motion [%], behind low-passes of "
        + ", ".join(f"{f:g}" for f in EXAMINED_HZ)
        + " Hz"
    )
    for name in arguments.only:
        file, read = RECORDINGS[name]
        if not (folder() / file).is_file():
            print(f"{name}: skipped, no {file} in {folder()}; set HEFT_DATA to the folder of the recordings")
            continue
        robot, seen, unseen = read()
        errors, began = {}, time.perf_counter()
        for cutoff_hz in FIXED_HZ:
            try:
                errors[cutoff_hz] = examined(fit(robot, seen, arguments.method, cutoff_hz=cutoff_hz), unseen)
            except HeftError as exc:
                print(f"{name:8} {cutoff_hz:6.3g} Hz  {exc}")
        result = fit(robot, seen, arguments.method)
        own = examined(result, unseen)
        best = np.min(list(errors.values()), axis=0)
        ratio = float(np.mean(own / best))
        worst = max(worst, ratio)
        for cutoff_hz, error in errors.items():
            print(f"{name:8} {cutoff_hz:6.3g} Hz  " + "  ".join(f"{100 * one:6.2f}" for one in error))
        marks = "  ".join(f"{100 * one:6.2f}" for one in own)
        print(f"{name:8} {result.processing.cutoff_hz:6.3g} Hz  {marks}  automatic: {ratio:.3f} of the best")
        reason = "no trade-off" if result.tradeoff is None else result.tradeoff.reason
        print(f"{'':8} {reason} ({time.perf_counter() - began:.0f} s)", flush=True)
    print(f"worst ratio {worst:.3f} (at most {WORST:g})")
    return 0 if worst <= WORST else 1


if __name__ == "__main__":
    sys.exit(main())
