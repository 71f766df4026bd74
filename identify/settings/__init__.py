"""Settings of an identification by name: on the command line, in a session's file, in a result"""

from __future__ import annotations

from heft.identify.settings.registry import SETTINGS, Setting, described
from heft.identify.settings.settings import Settings

__all__ = ["SETTINGS", "Setting", "Settings", "described"]
