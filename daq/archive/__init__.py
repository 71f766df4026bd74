"""What a session has published, for those who missed some of it. See `docs/worker.md`."""

from __future__ import annotations
