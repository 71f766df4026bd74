"""How the wrist moves, from the joints' positions, at the instants of what a scale shows."""
