"""Every pick-up of a recording, or of a rig while it happens: what `heft payload` does."""
