"""From information to parameters: problem, prior, delay, cut-off, and the estimators."""
