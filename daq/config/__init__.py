"""Typed configuration: robots, rigs and sessions, read once at the edge."""
