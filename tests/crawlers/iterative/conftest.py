import pytest

from crawlers.iterative.resolver import IterativeResolver
from tests.crawlers.iterative.cores import CORES


@pytest.fixture(params=CORES)
def each_core(request, monkeypatch):
    """Every test that uses this runs without and with the compiled loop."""
    monkeypatch.setattr(IterativeResolver, "ask", CORES[request.param])
    return request.param
