"""Web processes keep connections to PostgreSQL; run by ``make test-services``."""

from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests import services, sites, stores

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(not services.DATABASE_URL, reason="runs beside PostgreSQL only"),
]
_OPEN = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
_OPEN += "pg_backend_pid()"


@pytest.fixture
def folder(tmp_path):
    return stores.copy_store(tmp_path / "data")


@pytest.fixture
def site(folder):
    pytest.importorskip("psycopg_pool", reason="the pool is not installed")
    with sites.serve(folder) as url:
        yield urlsplit(url).port


def open_connections(folder):
    with stores.connect(folder) as run:
        return {pid for (pid,) in run(_OPEN)}


def get(port, path="/surveys/"):
    link = HTTPConnection("127.0.0.1", port, timeout=60)
    link.request("GET", path)
    answer = link.getresponse()
    answer.read()
    return answer.status


def test_requests_share_connections_that_stay(folder, site):
    assert {get(site) for _ in range(5)} == {200}
    first = open_connections(folder)
    assert {get(site) for _ in range(20)} == {200}
    assert first
    assert open_connections(folder) == first


def test_connections_that_the_server_closed_are_replaced(folder, site):
    assert get(site) == 200
    with stores.connect(folder) as run:
        # The server waits for their end, up to so many milliseconds.
        run(f"SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE pid IN ({_OPEN})")
    assert {get(site) for _ in range(5)} == {200}
