"""Export: an identified model as URDF or MJCF that says the same, and its parameters as CSV or YAML."""

from __future__ import annotations

from heft.identify.result.export.export_model import Export, export_model, objections
from heft.identify.result.export.tables import write_csv, write_yaml

__all__ = ["Export", "export_model", "objections", "write_csv", "write_yaml"]
