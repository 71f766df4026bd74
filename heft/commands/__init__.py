"""One module per command: `add(subparsers)` describes it, `run(arguments)` does it and returns the code."""
