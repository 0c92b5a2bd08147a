"""Settings of all tests."""

from hypothesis import settings

# A busy machine, or a first compilation, says nothing about whether a test is right.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
