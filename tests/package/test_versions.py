"""Every interpreter that is at hand runs the installed package."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
#: A few seconds of motion on the shipped rig: simulator, session, worker, estimator and report.
SESSION = """
name: short
rig: configs/rigs/sim_wam7.yaml
steps:
  - {name: excitation, use: identification, fourier: {seconds: 6, period_s: 6, blend_s: 0.5, seed: 3}}
"""
#: Quick tests of bytes, event loops, configuration and the compiled kernel.
SMOKE = ("drivers/codecs/test_checksums.py", "daq/bus", "daq/config", "identify/bodies", "identify/robot")
#: On the newest: most that does not wait for real time. (The oldest runs everything else here.)
UNIT = (
    *("drivers/codecs", "daq/bus", "daq/config", "daq/recording", "daq/stamps"),
    *(f"identify/{folder}" for folder in ("bodies", "robot", "data", "information", "result")),
)


def interpreter(version: str) -> Path | None:
    """The interpreter of a version: on the path, of pyenv, or as `make interpreters` fetched it."""
    on_path = shutil.which(f"python{version}")
    candidates = [] if on_path is None else [Path(on_path)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += [
        *sorted(pyenv.glob(f"{version}.*/bin/python")),
        ROOT / f"build/python{version}/usr/bin/python",
    ]
    for python in candidates:
        if python.exists() and _answer(python) == version:
            return python
    return None


def _answer(python: Path) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("version", VERSIONS)
def test_it_runs(version: str, new_environment: Callable[..., Any]) -> None:
    """A short session, and tests against the installed package, in which a warning is an error."""
    found = {name: path for name in VERSIONS if (path := interpreter(name)) is not None}
    if version not in found:
        pytest.skip(f"no Python {version} at hand")
    environment = new_environment(found[version], extra="[dev]")
    (environment.empty / "short.yaml").write_text(SESSION, encoding="utf-8")
    environment.run("python", "-W", "error", "-c", "from heft import Dataset, Robot, fit")
    environment.run("heft", "run", "short.yaml", "--speed", "max")
    tests = [str(ROOT / "tests" / name) for name in (UNIT if version == list(found)[-1] else SMOKE)]
    settings = ["-p", "no:cacheprovider", f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml")]
    environment.run("pytest", "-q", "-x", "-m", "not slow", *settings, *tests)
