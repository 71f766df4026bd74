"""Following a session: its recording by byte range, while it is being written. See `docs/worker.md`."""

from __future__ import annotations
