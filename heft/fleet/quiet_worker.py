"""Loaded by Dask into each local worker: Ctrl-C on the terminal is for the program that was called, which ends them."""

from __future__ import annotations

import signal
from typing import Any

__all__ = ["dask_setup"]


def dask_setup(worker: Any) -> None:
    """Called by Dask when a worker starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
