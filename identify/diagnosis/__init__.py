"""Diagnosis: what is wrong with a log or with a robot's model, and the line that cures it. `docs/check.md`"""
