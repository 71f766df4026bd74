"""After a session, in a process of its own: the report of the worker's result, or a result where it has none.

python -m heft.service.finishing RECORDING FOLDER FAILURE SETTINGS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console

from heft.drivers.errors import HeftError
from heft.identify.settings import Settings
from heft.worker_process import identification

__all__ = ["main"]


def main(words: list[str]) -> int:
    """The last line on standard output is a summary as JSON; exit code 4 where there is no result."""
    file, folder, failure, settings = words
    console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
    try:
        chosen = Settings.parse(json.loads(settings)).to_dict()
        facts = identification(Path(file), Path(folder), failure, console, chosen)
    except HeftError as exc:
        sys.stdout.write(json.dumps({"error": str(exc)}) + "\n")
        return 4
    sys.stdout.write(json.dumps(facts) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
