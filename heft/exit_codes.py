"""Exit codes of every command, and which error leads to which."""

from __future__ import annotations

from enum import IntEnum

from heft.daq.errors import CheckError, ConfigError, SafetyStop
from heft.daq.motion.state import State
from heft.drivers.errors import OptionError

__all__ = ["ExitCode", "of_error", "of_state"]


class ExitCode(IntEnum):
    """What a command's end means."""

    DONE = 0
    NO = 1  # it ran, and the answer is no
    USAGE = 2  # usage or configuration
    ABORTED = 3  # by safety or the operator
    FAILED = 4  # a device or the data


def of_error(error: Exception) -> ExitCode:
    """The exit code for an error that ended a command."""
    if isinstance(error, ConfigError | OptionError | CheckError):
        return ExitCode.USAGE
    if isinstance(error, SafetyStop):
        return ExitCode.ABORTED
    return ExitCode.FAILED


def of_state(state: State) -> ExitCode:
    """The exit code for a session's final state."""
    return {State.DONE: ExitCode.DONE, State.ABORTED: ExitCode.ABORTED}.get(state, ExitCode.FAILED)
