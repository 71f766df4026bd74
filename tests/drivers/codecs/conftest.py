"""Hypothesis tries the same examples every time, however busy the machine is."""

from hypothesis import settings

settings.register_profile("codecs", deadline=None, derandomize=True)
settings.load_profile("codecs")
