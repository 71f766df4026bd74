"""A recording on the bus again, as it was, faster, or as fast as those who listen keep up."""

from __future__ import annotations
