"""Designed motions on simulated rigs: what they promise, what sessions then report, and how random ones do.

    python benchmarks/designed_sessions.py [--rigs sim_wam7 sim_panda] [--seed 0] [--seconds 20] [--budget 40]
                                           [--keep FOLDER]

For each rig: a D-optimal design, played and identified; a random motion inside the joints' limits, played and
identified (without collision checks: nothing is hit in a simulation); and after each a second design given its result,
against the same motion repeated, which halves every variance; beside it stands by how much any second session could be
better, even one that jumps from state to state at will. Exit code 1 where a bound is missed: reported
deviations within 25 % of the expected ones (median over base parameters), half the median deviation of the random
motion or less, the worst relative deviation 1.4 times smaller than by repeating the first, random or designed (where
there is less to gain).
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from heft.daq.config.rig import load_rig
from heft.daq.recording import Recording
from heft.designing import robot_limits
from heft.identify.excitation.given import given_information
from heft.identify.excitation.request import DesignRequest
from heft.identify.fit import identify_recordings
from heft.identify.result import Result
from heft.main import main as heft

CONFIGS = Path(__file__).parents[1] / "configs"
AGREE, RANDOM, SECOND = 0.25, 2.0, 1.4
STATES, STEPS = 3000, 2000
write = sys.stdout.write


@dataclass(frozen=True)
class Bench:
    """A folder for one rig."""

    rig: str
    folder: Path
    seed: int
    seconds: float
    budget: float

    def call(self, *arguments: str) -> dict[str, object]:
        """`heft ARGUMENTS --json`; RuntimeError where it fails."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = heft([*arguments, "--json"])
        if code:
            raise RuntimeError(f"heft {' '.join(arguments)}: exit code {code}: {err.getvalue()[-500:]}")
        told: dict[str, object] = json.loads(out.getvalue())
        return told

    def design(self, name: str, *more: str) -> dict[str, float]:
        """Expected deviations by base parameter."""
        path, kept = self.folder / f"{name}.yaml", self.folder / f"{name}.told.json"
        rig = str(CONFIGS / "rigs" / f"{self.rig}.yaml")
        size = [
            "--seconds",
            str(self.seconds),
            "--budget",
            str(self.budget),
            "--out",
            str(path),
            "--overwrite",
        ]
        if not kept.exists():
            kept.write_text(json.dumps(self.call("design", rig, *size, *more)), encoding="utf-8")
        expected = json.loads(kept.read_text(encoding="utf-8"))["expected_std"]
        assert isinstance(expected, dict)
        return expected

    def play(self, name: str, action: dict[str, object], seed: int) -> Recording:
        """A session of this one motion."""
        rig = CONFIGS / "rigs" / f"{self.rig}.yaml"
        if "fourier" in action and load_rig(rig).robot.excitation.collisions:
            rig = self._without_scene(rig)
        session = self.folder / f"{name}_session.yaml"
        step = {"name": "excitation", "use": "identification", **action}
        session.write_text(yaml.safe_dump({"name": name, "rig": str(rig), "steps": [step]}), encoding="utf-8")
        out = self.folder / name
        if not (out / f"{name}.mcap").exists():
            play = ["run", str(session), "--out", str(out), "--speed", "max", "--no-viewer", "--no-identify"]
            self.call(*play, "--seed", str(seed))
        return Recording.open(out / f"{name}.mcap")

    def _without_scene(self, rig: Path) -> Path:
        """The rig whose robot's file does not look at collisions."""
        content = yaml.safe_load(rig.read_text(encoding="utf-8"))
        source = (rig.parent / content["robot"]).resolve()
        robot = yaml.safe_load(source.read_text(encoding="utf-8"))
        robot["excitation"] = {**robot.get("excitation", {}), "collisions": False}
        (self.folder / source.name).write_text(yaml.safe_dump(robot), encoding="utf-8")
        model = source.parent / robot["model"]
        (self.folder / model.name).write_bytes(model.read_bytes())
        content["robot"] = source.name
        path = self.folder / "rig_without_scene.yaml"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return path


def relative(result: Result, names: list[str]) -> np.ndarray:
    """Deviations relative to the prior's values (at least 1 % of the largest), as `--criterion worst` has it."""
    assert result.robot.prior is not None
    values = dict(zip(result.base.names, np.abs(result.base.matrix @ result.robot.prior), strict=True))
    scale = np.array([values[name] for name in names])
    return deviations(result, names) / np.maximum(scale, 0.01 * scale.max())


def deviations(result: Result, names: list[str]) -> np.ndarray:
    """Standard deviations of these base parameters, in their units."""
    std = dict(zip(result.base.names, result.base.std, strict=True))
    return np.array([std[name] for name in names])


def measured(bench: Bench) -> list[str]:
    """Play and print; the bounds that are missed."""
    expected = bench.design("first")
    design = {"design": str(bench.folder / "first.yaml")}
    recordings = {
        "first": bench.play("first", design, bench.seed),
        "random": bench.play(
            "random", {"fourier": {"seconds": bench.seconds, "seed": bench.seed}}, bench.seed
        ),
    }
    first = identify_recordings([recordings["first"]])
    random = identify_recordings([recordings["random"]])
    names = [name for name in expected if name in first.base.names and name in random.base.names]
    agree = deviations(first, names) / np.array([expected[name] for name in names])
    against = deviations(random, names) / deviations(first, names)
    low, middle, high = np.quantile(agree, [0.1, 0.5, 0.9])
    write(f"{bench.rig}: {len(names)} base parameters\n")
    write(f"  reported / expected deviation: median {middle:.2f}, 80 % within {low:.2f} to {high:.2f}\n")
    write(f"  random / designed deviation: median {np.median(against):.2f}\n")
    better = {
        name: second_session(bench, name, result, names)
        for name, result in (("random", random), ("first", first))
    }
    bounds = {
        f"{bench.rig}: reported and expected deviations differ": abs(middle - 1.0) <= AGREE,
        f"{bench.rig}: designed is not {RANDOM:g} times better than random": float(np.median(against))
        >= RANDOM,
        f"{bench.rig}: a second, designed session is not {SECOND:g} times better": min(better.values())
        >= SECOND,
    }
    return [text for text, kept in bounds.items() if not kept]


def second_session(bench: Bench, name: str, before: Result, names: list[str]) -> float:
    """By how much a session designed given `before` has a smaller worst relative deviation than repeating that one."""
    given = before.save(bench.folder / f"{name}.json")
    bench.design(f"after_{name}", "--criterion", "worst", "--given", str(given))
    second = bench.play(f"after_{name}", {"design": str(bench.folder / f"after_{name}.yaml")}, bench.seed)
    own = Recording.open(bench.folder / name / f"{name}.mcap")
    repeated = relative(before, names).max() / np.sqrt(2.0)  # twice the information
    designed = relative(identify_recordings([own, second]), names).max()
    write(
        f"  worst relative deviation after {name}: repeated {repeated:.3g}, designed second {designed:.3g}: "
        f"{repeated / designed:.2f} times better (any: {most_gain(bench, given):.2f} at most)\n"
    )
    return float(repeated / designed)


def most_gain(bench: Bench, given: Path) -> float:
    """By how much a second session of whatever states the limits allow could be better than repeating the first, for
    the parameter that is worst then: which only makes it look better.

    Every sample may have a state of its own, of STATES that are drawn; which ones, a convex problem, is found by
    Frank and Wolfe's method, whose gap bounds the least variance from below.
    """
    rig = load_rig(CONFIGS / "rigs" / f"{bench.rig}.yaml")
    limits, n = robot_limits(rig.robot), len(rig.robot.joints)
    plain = DesignRequest(rig.robot, rig.scene, limits, seconds=bench.seconds)
    request = given_information(plain, [given])
    assert request.given is not None
    rng = np.random.default_rng(0)
    states = (
        rng.uniform(limits.lower, limits.upper, (STATES, n)),
        limits.velocity * rng.choice([-1.0, -0.3, -0.05, 0.05, 0.3, 1.0], (STATES, n)),
        limits.acceleration * rng.choice([-1.0, -0.3, 0.0, 0.3, 1.0], (STATES, n)),
    )
    bound = np.array([joint.torque for joint in rig.robot.joints.values()])
    free = np.all(np.abs(request.robot.torque(*states, request.robot.prior)) <= bound, axis=1)
    scene = request.surroundings
    free &= np.all(scene.distances(states[0], scene.wanted) >= scene.wanted, axis=1)
    rows = request.rows_of((states[0][free], states[1][free], states[2][free]))
    W = rows[:, :, list(request.columns)] / request.row_noise[:, None]
    samples, first = request.rate_hz * request.seconds, request.given

    def inverse(F: np.ndarray) -> np.ndarray:
        size = np.sqrt(np.diag(F))
        return np.asarray(np.linalg.inv(F / np.outer(size, size)) / np.outer(size, size))

    worst = int((np.diag(inverse(first)) / request.scale**2).argmax())
    M, least = first / samples, 0.0
    for step in range(STEPS):
        by_all = inverse(first + samples * M)
        tells = ((W @ by_all[:, worst]) ** 2).sum(axis=1)
        gap = samples * (tells.max() - by_all[worst] @ M @ by_all[worst])
        least = max(least, float(by_all[worst, worst] - gap))
        best = W[tells.argmax()]
        M = M + 2.0 / (step + 3) * (best.T @ best - M)
    return float(np.sqrt(0.5 * inverse(first)[worst, worst] / least))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rigs", nargs="+", default=["sim_wam7", "sim_panda"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--budget", type=float, default=40.0)
    parser.add_argument("--keep", type=Path, help="folder for the files")
    arguments = parser.parse_args()
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="heft-designed-") as temporary:
        for rig in arguments.rigs:
            folder = (arguments.keep or Path(temporary)) / rig
            folder.mkdir(parents=True, exist_ok=True)
            missed += measured(Bench(rig, folder, arguments.seed, arguments.seconds, arguments.budget))
    for text in missed:
        write(f"missed: {text}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
