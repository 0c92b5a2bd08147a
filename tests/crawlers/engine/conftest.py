import pytest

from crawlers.engine.engine import Engine
from tests.crawlers.engine.cores import CORES


@pytest.fixture(params=CORES)
def each_core(request, monkeypatch):
    """Every test that uses this runs on the reference engine and on the compiled core."""
    monkeypatch.setattr(Engine, "ask", CORES[request.param])
    return request.param
