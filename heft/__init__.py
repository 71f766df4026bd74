"""The command line, which also wires the parts together, and nothing else."""

__version__ = "0.1.0"
