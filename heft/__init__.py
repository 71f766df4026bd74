"""Heft: data acquisition and inertial identification for robot arms.

from heft import Dataset, Robot, fit

robot  = Robot.load("configs/robots/wam7.yaml")
result = fit(robot, Dataset.from_recording("session.mcap", robot))
result.parameters["link3"].mass, result.relative_error(other).total, result.save("result.json")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heft.identify import Dataset, Result, Robot, fit, load

__all__ = ["Dataset", "Result", "Robot", "fit", "load"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `import heft` alone loads nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from heft import identify

    return getattr(identify, name)
