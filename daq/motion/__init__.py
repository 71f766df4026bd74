"""Safe motion: the plan, the state machine, the player of setpoints, and the watch over every sample."""
