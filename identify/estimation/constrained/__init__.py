"""What estimators inside the feasible set share: the set, the target, the solver's loop, the weight of the prior."""
