"""One acquisition session: its devices, its account of every sample, its motion and its recording."""
