"""One module per command: `add(parser)` describes it, `run(arguments)` does it and returns the exit code."""
