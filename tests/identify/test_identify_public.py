"""The names that others rely on, and what importing them costs."""

import subprocess
import sys

from heft import identify


def test_public_names() -> None:
    assert identify.__all__ == [
        "Bootstrap",
        "Bounds",
        "Dataset",
        "Method",
        "Processing",
        "Result",
        "Robot",
        "Signals",
        "base_parameters",
        "check_base",
        "consistency",
        "correct_base",
        "fit",
        "load",
    ]
    for name in identify.__all__:
        assert callable(getattr(identify, name)), name


def test_functions_are_not_hidden_by_modules_of_the_same_name() -> None:
    import heft.identify.fit

    assert identify.consistency([1, 0, 0, 0, 1, 0, 1, 0, 0, 1]).ok
    assert heft.identify.fit.__name__ == "fit"


def test_importing_identify_brings_in_no_device_and_no_solver() -> None:
    code = "import sys, heft.identify; print(' '.join(sorted(sys.modules)))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    roots = {name.split(".")[0] for name in loaded}
    assert not roots & {
        "zmq",
        "can",
        "aiomqtt",
        "serial",
        "mujoco",
        "cvxpy",
        "clarabel",
        "pinocchio",
        "numba",
    }


def test_everything_public_works_without_devices() -> None:
    code = (
        "import sys\nfrom heft import identify\n"
        "[getattr(identify, name) for name in identify.__all__]\n"
        "print(' '.join(sorted(sys.modules)))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {name.split(".")[0] for name in loaded} & {"zmq", "can", "aiomqtt", "serial", "mujoco"}
