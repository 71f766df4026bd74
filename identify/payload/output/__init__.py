"""A payload in the frames, formats and documents that others ask for, and which known object it is."""
