"""Settings of all tests, and which of them run alone."""

from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine, or a first compilation, says nothing about whether a test is right.
# Whatever needs more examples than this says so itself.
settings.register_profile("patient", deadline=None, max_examples=60)
settings.load_profile("patient")

_HERE = Path(__file__).parent
# Engines against real sockets, workers and brokers that are killed, probes and samplers: they keep
# time, and what else the machine does would be in the figure. A module among them that has a clock
# of its own, or only computes, says ``KEEPS_TIME = False``, and runs beside others.
_TIMED = {"crawlers", "lab", "probes", "screening", "tasks"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        keeps_time = getattr(item.module, "KEEPS_TIME", True)
        if keeps_time and item.path.relative_to(_HERE).parts[0] in _TIMED:
            item.add_marker(pytest.mark.timed)
