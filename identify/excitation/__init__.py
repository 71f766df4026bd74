"""Excitation: the motion that tells most about what is to be identified, inside every limit."""
