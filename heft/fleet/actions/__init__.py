"""One module per action of `heft fleet`: `add(parser)` describes it, `run(arguments)` does it."""
