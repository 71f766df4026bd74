"""Simulated fleets: arms that wear, warm up and are worked on, as whole recordings or as rows of the table."""
