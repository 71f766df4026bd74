"""Known facts of real recordings, found without being told."""

import sys
from pathlib import Path

import pytest

from heft.identify.diagnosis.diagnose import diagnose

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from gallery import logs
from recordings import DATA

FACTS = {
    "panda": "gaps",
    "tx40 urdf": "coupled_joints",
    "kinova RecordTrajectory_quadratic tau_model": "model_output",
    "kr300 at 0.8 ms": "rate_mismatch",
    "tiago": "dead_column",
    "ur10": "smoothed_before_recording",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FACTS)
def test_the_known_fact_is_found(name: str) -> None:
    if not DATA.is_dir():
        pytest.skip(f"no recordings in {DATA}; set HEFT_DATA to their folder")
    _, log, robot = next(one for one in logs((name,)) if one[0] == name)
    assert FACTS[name] in {one.id for one in diagnose(log, robot)}
