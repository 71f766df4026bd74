"""FIGAROH on the benchmark's data: run by the interpreter of its own environment, prints seconds as JSON.

    python figaroh_wam.py FOLDER     FOLDER has wam.urdf and data.npz (t, q, tau)

The timer runs from raw positions and torques to base parameters and a physically consistent reconstruction, as
its own `BaseIdentification` does it; reading files and building the model are left out, as they are for Heft.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import yaml
from figaroh.identification.base_identification import BaseIdentification
from figaroh.tools.load_robot import load_robot

RATE_HZ = 1000.0


def configuration(joints: list[str], cutoff_hz: float, decimation: int) -> dict:
    """A unified configuration with friction, drive inertia and offsets, and a feasible reconstruction."""
    zeros = [0.0] * len(joints)
    return {
        "robot": {"name": "wam7"},
        "tasks": {
            "identification": {
                "enabled": True,
                "type": "identification",
                "joints": {"active_joints": joints},
                "problem": {
                    "use_joint_torques": True,
                    "include_external_forces": False,
                    "wls": True,
                    "model_components": {"friction": True, "actuator_inertia": True, "joint_offset": True},
                },
                "mechanics": {
                    "friction_coefficients": {"viscous": zeros, "static": zeros},
                    "actuator_inertias": zeros,
                    "joint_offsets": zeros,
                    "reduction_ratios": [1.0] * len(joints),
                },
                "coupling": {"has_coupled_wrist": False},
                "signal_processing": {
                    "sampling_frequency": RATE_HZ,
                    "cutoff_frequency": cutoff_hz,
                    "filter_type": "butterworth",
                    "differentiation_method": "gradient",
                },
                "reconstruction": {"enabled": True},
                "physical_consistency": {"enabled": True, "physical_fit": {"enabled": True}},
                "decimation": decimation,
            }
        },
    }


class Wam(BaseIdentification):
    """The data as arrays."""

    arrays: dict

    def load_trajectory_data(self, data_source: str | None = None) -> dict:
        t, q, tau = (self.arrays[key] for key in ("t", "q", "tau"))
        return {"timestamps": t, "positions": q, "velocities": None, "accelerations": None, "torques": tau}


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    Wam.arrays = dict(np.load(folder / "data.npz"))
    robot = load_robot(str(folder / "wam.urdf"), package_dirs=str(folder), loader="figaroh")
    joints = [name for name in robot.model.names if name != "universe"]
    config = folder / "figaroh.yaml"
    config.write_text(
        yaml.safe_dump(configuration(joints, float(Wam.arrays["cutoff_hz"]), 10)), encoding="utf-8"
    )
    identification = Wam(robot, str(config))
    every = list(range(len(joints)))  # its subclasses for one robot set these by hand
    identification.identif_config |= {"act_idxq": every, "act_idxv": every, "act_Jid": [i + 1 for i in every]}
    start = time.perf_counter()
    identification.initialize()
    identification.solve(decimate=True, decimation_factor=10, plotting=False, save_results=False, wls=True)
    seconds = time.perf_counter() - start
    sys.__stdout__.write(
        json.dumps(
            {
                "seconds": seconds,
                "base": len(identification.params_base),
                "rms": float(identification.rms_error),
            }
        )
        + "\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
