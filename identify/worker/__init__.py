"""Identification beside acquisition: a process that follows a session and answers when it ends. `docs/worker.md`."""

from __future__ import annotations
