"""Exporting: recordings as tables and bags that other tools read. All in SI units, a chunk in memory at a time."""
