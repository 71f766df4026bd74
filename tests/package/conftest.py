"""The wheel, built from the source distribution as an installer does it, and clean environments that have it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from uv import find_uv_bin

ROOT = Path(__file__).parents[2]
#: What the environment of these tests must not pass on to the programs that they start.
OWN = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in `folder` to its end, without the settings of this process."""
    environment = {key: value for key, value in os.environ.items() if key not in OWN}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and an empty directory to start its programs in."""

    folder: Path
    empty: Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs in the empty directory; it must end with exit code 0."""
        done = run([str(self.folder / "bin" / program), *arguments], self.empty)
        assert done.returncode == 0, (
            f"{program} {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done


@dataclass(frozen=True)
class Distribution:
    """The files for installers, and what their build printed."""

    source: Path
    wheel: Path
    log: str


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    """The source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    done = run([find_uv_bin(), "build", "--out-dir", str(folder), str(ROOT)], folder)
    assert done.returncode == 0, done.stderr
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Distribution(source, wheel, done.stdout + done.stderr)


@pytest.fixture(scope="session")
def new_environment(
    distribution: Distribution, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Environment]:
    """Makes an environment of an interpreter, with the wheel, all that it depends on, and further packages."""

    def make(python: Path, *packages: str, extra: str = "") -> Environment:
        folder = tmp_path_factory.mktemp("environment")
        where = folder / "venv"
        for command in (
            ["venv", "--python", str(python), str(where)],
            [
                "pip",
                "install",
                "--python",
                str(where / "bin" / "python"),
                f"{distribution.wheel}{extra}",
                *packages,
            ],
        ):
            done = run([find_uv_bin(), *command], folder)
            assert done.returncode == 0, done.stderr
        (folder / "empty").mkdir()
        return Environment(where, folder / "empty")

    return make
