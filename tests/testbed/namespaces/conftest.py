"""One laboratory for all tests of what probes see in it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from testbed.namespaces.capabilities import detect_capabilities
from testbed.namespaces.laboratory import Laboratory
from testbed.namespaces.six_by_four import six_by_four

ROOT = Path(__file__).parents[3]


def need_laboratory():
    if reason := detect_capabilities().reason:
        pytest.skip(reason)


@pytest.fixture(scope="package")
def lab():
    need_laboratory()
    with Laboratory(six_by_four(), seed=4) as standing:
        yield standing


def everywhere(lab, work, starts=None, at_once=None):
    """What ``work(start)`` gives at each start, all or some of them at once."""
    starts = starts or [v.name for v in lab.plan.of_kind("vantage")]
    with ThreadPoolExecutor(at_once or len(starts)) as pool:
        found = [pool.submit(lab.run_inside, s, lambda s=s: work(s)) for s in starts]
        return {s: f.result() for s, f in zip(starts, found, strict=True)}
