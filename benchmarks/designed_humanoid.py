"""The humanoid's designed session against a random one of the same duration, both played on the simulated rig.

    python benchmarks/designed_humanoid.py [--seed 0] [--keep FOLDER]

Prints what was lost, the median and the worst standard deviation of base parameters (without sensors' biases) that each
session reports, and reported deviations over those that the design expects, of the combinations that show while the
root rests. Exit code 1 where something was lost, where the designed session's median or worst is not smaller, or where
the median of reported over expected is not within a factor of FACTOR.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import yaml

from heft.commands.design import add
from heft.daq.config.design_file import load_design
from heft.daq.config.rig import load_rig
from heft.daq.trajectory.fourier import FourierSeries
from heft.designing import design_request
from heft.identify.excitation.design import telling
from heft.identify.excitation.request import DesignRequest
from heft.identify.result import Result, load
from heft.main import main as heft

CONFIGS = Path(__file__).parents[1] / "configs"
RIG, SESSION = CONFIGS / "rigs/sim_humanoid.yaml", CONFIGS / "sessions/humanoid_designed.yaml"
FACTOR = 2.0
write = sys.stdout.write


def play(session: Path, out: Path, seed: int) -> tuple[Result, int]:
    """The result of a session, and how many samples it lost."""
    played, told = io.StringIO(), io.StringIO()
    if not (out / "result.json").exists():
        options = ["--out", str(out), "--speed", "max", "--no-viewer", "--seed", str(seed), "--json"]
        with redirect_stdout(played), redirect_stderr(told):
            code = heft(["run", str(session), *options])
        if code:
            raise RuntimeError(f"heft run {session}: exit code {code}: {told.getvalue()[-500:]}")
        (out / "told.json").write_text(played.getvalue(), encoding="utf-8")
    lost = json.loads((out / "told.json").read_text(encoding="utf-8"))["lost"]
    return load(out / "result.json"), int(lost)


def random_session(folder: Path) -> Path:
    """The shipped random motion for as long as the design lasts, then the same validation."""
    random = yaml.safe_load((CONFIGS / "sessions/humanoid.yaml").read_text(encoding="utf-8"))
    random["steps"][0]["fourier"]["seconds"] = 20
    random["rig"], random["name"] = str(RIG), "humanoid_random"
    path = folder / "humanoid_random.yaml"
    path.write_text(yaml.safe_dump(random), encoding="utf-8")
    return path


def asked() -> DesignRequest:
    """The request that the shipped design was made for."""
    parser = argparse.ArgumentParser()
    add(parser)
    rig = load_rig(RIG)
    arguments = parser.parse_args([str(RIG), "--seconds", "20", "--harmonics", "10"])
    return design_request(arguments, rig.robot, rig)


def at_rest(result: Result, request: DesignRequest) -> np.ndarray:
    """Reported deviations of the base parameters that show while the root rests."""
    A = np.linalg.lstsq(result.base.matrix.T, request.base.matrix.T, rcond=None)[0].T
    return np.sqrt(np.diag(A @ result.base.covariance @ A.T))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the files")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heft-humanoid-") as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        designed, lost = play(SESSION, folder / "designed", arguments.seed)
        random, lost_too = play(random_session(folder), folder / "random", arguments.seed)
    request = asked()
    made = load_design(CONFIGS / "sessions/designs/humanoid_excitation.yaml").fourier
    assert made is not None
    series = FourierSeries(np.array(made.a), np.array(made.b), np.array(made.q0), made.period_s)
    told = telling(request, series.at(np.arange(0.0, made.period_s, 0.0125)))
    links = np.array([".offset" not in name for name in designed.base.names])
    rows = {"designed": designed.base.std[links], "random": random.base.std[links]}
    for name, result in (("designed", designed), ("random", random)):
        std = rows[name]
        rest = at_rest(result, request)
        write(
            f"{name}: condition {result.condition_number:.3g}, unseen motion {100 * result.validation.total:.2f} %; "
            f"deviations of {len(std)} base parameters: median {np.median(std):.3g}, worst {std.max():.3g}; of "
            f"{len(rest)} while the root rests: median {np.median(rest):.3g}, worst {rest.max():.3g}\n"
        )
    ratio = at_rest(designed, request) / told.std
    low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
    each = np.median(rows["random"] / rows["designed"])
    write(f"random / designed deviation, parameter by parameter: median {each:.2f}\n")
    write(f"reported / expected deviation: median {middle:.2f}, 80 % within {low:.2f} to {high:.2f}\n")
    write(f"lost: {lost} and {lost_too}\n")
    kept = (
        lost == 0
        and np.median(rows["designed"]) < np.median(rows["random"])
        and rows["designed"].max() < rows["random"].max()
        and 1.0 / FACTOR <= middle <= FACTOR
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
