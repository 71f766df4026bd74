"""`heft` and `python -m heft`: the command line; signals are answered before anything is loaded."""

import sys

from heft.interruption import answer_at_once

__all__ = ["program"]


def program() -> int:
    """Run the command of `sys.argv`."""
    answer_at_once("--json" in sys.argv)
    from heft.main import program as loaded

    return loaded()


if __name__ == "__main__":
    sys.exit(program())
