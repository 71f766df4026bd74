"""Does an identified model follow a path better than the CAD model? On the simulated WAM, through the whole product.

    python benchmarks/feedforward.py [--seeds 0 1 2]

`heft run` moves the arm with the CAD model in its servo and identifies it; `heft export` writes the model as MJCF; a
second run with the same seed, so with the same true arm, has that file in the servo. What is measured is the distance
of the motors from their setpoints while the motion is played that the fit has not seen. Exit code 1 where it does not
fall to half.

The servo computes torque at 1 kHz (003, Eq. 76) with position loops of 8 to 20 Hz and integral action, and the motion
is slow (0.05 to 0.25 Hz). Feedback therefore takes out most of what a model gets wrong, and errors are tenths of a
milliradian with either; what feedback cannot take out is friction that turns over, and there the model counts.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from pathlib import Path

import numpy as np
import yaml

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording
from heft.main import main as heft

GOAL = 2.0  # times smaller: anything less would not be worth a session


def tracking(file: Path) -> np.ndarray:
    """Setpoint in force minus position of every motor in the validation [rad], shape (T, n)."""
    recording = Recording.open(file)
    (segment,) = [one for one in recording.segments if one.use == "validation"]
    played, motion = (
        recording.columns(name, segment.start_ns, segment.end_ns) for name in ("arm.played", "arm.motion")
    )
    common, a, b = np.intersect1d(played.sequence, motion.sequence, return_indices=True)
    if len(common) < 1000:
        raise SystemExit(f"{file}: only {len(common)} samples of the validation")
    return played.quantity("position")[a] - motion.quantity("position")[b]


def run(*arguments: str) -> None:
    """A command of `heft`, quietly."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = heft(list(arguments))
    if code != 0:
        raise SystemExit(f"heft {' '.join(arguments)}: exit code {code}\n{said.getvalue()}")


def with_feedforward(folder: Path, model: Path) -> Path:
    """The default session with a rig whose servo computes with `model`."""
    session = yaml.safe_load((CONFIGS / "sessions" / "wam7_excitation.yaml").read_text(encoding="utf-8"))
    rig = yaml.safe_load((CONFIGS / "sessions" / session["rig"]).read_text(encoding="utf-8"))
    rig["robot"] = str(CONFIGS / "robots" / "wam7.yaml")
    rig["devices"]["arm"]["feedforward"] = str(model)
    session["rig"] = "rig.yaml"
    for step in session["steps"]:
        if "design" in step:
            step["design"] = str((CONFIGS / "sessions" / step["design"]).resolve())
    for name, content in (("rig.yaml", rig), ("session.yaml", session)):
        (folder / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return folder / "session.yaml"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", nargs="+", default=["0", "1", "2"], help="of the simulated rig: which arm it really is"
    )
    print("tracking error on unseen motion [mrad]: rms per joint, rms of all, worst")
    ratios = [measured(seed) for seed in parser.parse_args().seeds]
    print(f"ratio cad / identified: {min(ratios):.1f} to {max(ratios):.1f} (at least {GOAL:g})")
    return 0 if min(ratios) >= GOAL else 1


def measured(seed: str) -> float:
    """How many times smaller the error is with the identified model."""
    with tempfile.TemporaryDirectory(prefix="heft-") as name:
        folder = Path(name)
        fast = ("--speed", "max", "--seed", seed)
        run("run", "--out", str(folder / "cad"), *fast)
        model = folder / "identified.xml"
        run("export", str(folder / "cad" / "result.json"), "--mjcf", str(model))
        session = with_feedforward(folder, model)
        run("run", str(session), "--out", str(folder / "identified"), "--no-identify", *fast)
        errors = {kind: tracking(next((folder / kind).glob("*.mcap"))) for kind in ("cad", "identified")}
    totals = {}
    for kind, error in errors.items():
        rms = 1e3 * np.sqrt((error**2).mean(axis=0))
        totals[kind] = 1e3 * float(np.sqrt((error**2).mean()))
        joints = " ".join(f"{value:6.3f}" for value in rms)
        print(f"  seed {seed} {kind:<11}{joints}   {totals[kind]:6.3f}  {1e3 * np.abs(error).max():6.3f}")
    return totals["cad"] / totals["identified"]


if __name__ == "__main__":
    sys.exit(main())
