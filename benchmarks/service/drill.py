"""Surveys on machines of their own while processes are killed and networks are cut.

``python -m benchmarks.service.drill [--minutes N] [--every S] [--seed N] [--zones N]``, as root:
each machine is a network namespace with a data folder of its own. PostgreSQL, Valkey and an S3
server have one each, and so have two web processes, three crawlers and a machine with the scheduler
and the other workers. No folder is shared. After one survey in peace, surveys follow each other,
and every few seconds a process is killed by SIGKILL and started again, two machines cannot reach
each other for some seconds (frames are lost, nothing is refused), or all connections to the
database are closed. Meanwhile pages are requested, and the first survey is audited over the API,
one audit after the other, and campaigns of synthetic vantage points follow each other, too. A
traffic log is uploaded again and again, and its capture is deleted.

The crawled zones are counted: each of their names has one right answer. Ends with 1 where a name of
a survey is lost, doubled or wrong, where a table differs from that of the first survey, where an
audit is lost or doubled or has other findings than the first, where a capture differs from the
first or is left, where a machine's disk has an address of an uploaded client, where a slot of a
campaign has no end or is stored twice, or where neither web process answers a page between two
disturbances.
"""

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import duckdb

from benchmarks.dns import counting
from benchmarks.service.audit_load import Audits
from benchmarks.service.background import Background
from benchmarks.service.campaign_load import Campaigns
from benchmarks.service.machines import (
    ADDRESS,
    CRAWLERS,
    DNS_PORT,
    LABELS,
    MACHINES,
    STORES,
    WEBS,
    Cluster,
    ask,
    ask_status,
    built,
)
from benchmarks.service.upload_load import CLIENT, Uploads

# What may be killed; the S3 server of the tests keeps its objects in memory.
KILLED = (*WEBS, *CRAWLERS, "sweeps", "analysis", "beat", "broker")
LIMIT_QPS = 400
_LEAST_CUT_S, _MOST_CUT_S = 2.0, 12.0
FETCH_ATTEMPTS = 5


class Disturbances(Background):
    """Kills, cuts and closed connections, one every few seconds, until stopped."""

    def __init__(self, cluster: Cluster, seed: int, every_s: float) -> None:
        super().__init__()
        self._cluster, self._every_s = cluster, every_s
        self._chance = random.Random(seed)
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        """Disturb until stopped."""
        while not self._stopped.wait(self._every_s * self._chance.uniform(0.5, 1.5)):
            for role in self._cluster.restart_ended():
                self.counts[f"ended by itself {role}"] += 1
            kind = self._chance.choices(("kill", "cut", "close"), (5, 4, 1))[0]
            getattr(self, f"_{kind}")()

    def _kill(self) -> None:
        role = self._chance.choice(KILLED)
        self.counts[f"kill {role}"] += 1
        self._cluster.kill(role)
        self._cluster.restart(role)

    def _cut(self) -> None:
        first = self._chance.choice((*WEBS, *CRAWLERS, "control"))
        second = self._chance.choice(STORES)
        self.counts[f"cut {first} {second}"] += 1
        self._cluster.network.cut(first, second)
        self._stopped.wait(self._chance.uniform(_LEAST_CUT_S, _MOST_CUT_S))
        self._cluster.network.join(first, second)

    def _close(self) -> None:
        self.counts["close connections"] += 1
        query = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
        self._cluster.inside(lambda: ask(self._cluster, query))


class Visitors(Background):
    """Requests for pages, each to the other web process if the first gives no answer."""

    def __init__(self, cluster: Cluster, paths: list[str]) -> None:
        super().__init__(cluster.inside)
        self._cluster, self._paths = cluster, paths
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        """Request pages until stopped."""
        number = 0
        while not self._stopped.wait(0.2):
            path = self._paths[number % len(self._paths)]
            order = WEBS if number % 2 else WEBS[::-1]
            statuses = (ask_status(self._cluster, web, 8000, "GET", path) for web in order)
            found = next(filter(None, statuses), 0)
            self.counts["answered" if found == 200 else f"status {found}"] += 1
            number += 1


def run_survey(cluster: Cluster, name: str, zones: int) -> dict[str, Any]:
    """Run a survey by the workers; return its tables without names and times."""
    domains, words = cluster.folder / "domains", cluster.folder / "words"
    domains.write_text("\n".join(map(counting.zone_name, range(zones))))
    words.write_text("\n".join(map(counting.label, range(LABELS))))
    options = ("--no-aaaa", "--workers", "--rate", LIMIT_QPS, "--wordlist", words, "--json")
    server = f"{ADDRESS}:{DNS_PORT}"
    for _ in range(20):
        # The command ends where its connection is closed, and continues the survey of this name.
        found = cluster.manage("survey", domains, "--name", name, "--name-server", server, *options)
        if not found.wait():
            break
        time.sleep(1)
    else:
        raise SystemExit(f"survey {name} did not end; see command.log")
    query = "SELECT table_id, columns, rows, n FROM store_report WHERE survey_id = (SELECT id FROM"
    rows = cluster.inside(lambda: ask(cluster, f"{query} store_survey WHERE slug = '{name}')"))
    return {table_id: rest for table_id, *rest in rows}


def fetch_lake(cluster: Cluster) -> bool:
    """Copy the lake to the user's machine, which may be cut off from the storage at first."""
    return any(cluster.manage("lake", "fetch").wait() == 0 for _ in range(FETCH_ATTEMPTS))


def create_loads(cluster: Cluster) -> tuple[Campaigns, Uploads]:
    """Store vantage points and an account; return the loads of campaigns and of uploads."""
    if cluster.run_once("campaigns", "-m", "benchmarks.service.campaign_load").wait():
        raise SystemExit("the vantage points could not be stored; see campaigns.log")
    secret, *vantages = (cluster.folder / "campaigns.log").read_text().split("\n")[-2].split()
    addresses = [cluster.network.address_of(web) for web in WEBS]
    campaigns = Campaigns(addresses, secret, vantages, cluster.inside)
    return campaigns, Uploads(addresses, secret, cluster.inside)


def check_campaigns(cluster: Cluster, campaigns: Campaigns) -> list[str]:
    """Compare the slots of all campaigns with the rows of their parts; return the faults."""
    query = (
        "SELECT DISTINCT part FROM store_campaignunit WHERE part <> '' AND campaign_id = "
        "(SELECT id FROM store_campaign WHERE slug = '{}')"
    )

    def parts(slug: str) -> Sequence[str]:
        return [part for (part,) in cluster.inside(lambda: ask(cluster, query.format(slug)))]

    if not fetch_lake(cluster):
        return ["the lake could not be fetched"]
    campaigns.compare(cluster.folder / "user" / "lake", parts)
    print(campaigns.summary())
    return campaigns.faults


def check_clients(cluster: Cluster) -> list[str]:
    """Return the files on any machine's disk that contain the address of an uploaded client."""
    paths = (path for machine in MACHINES for path in (cluster.folder / machine).rglob("*"))
    client = CLIENT.encode()
    found = [str(path) for path in paths if path.is_file() and client in path.read_bytes()]
    return [f"{path} contains an address of a client" for path in found]


def check_rows(cluster: Cluster, name: str, zones: int) -> str:
    """Compare a survey's answers with the truth; return what is wrong, or nothing."""
    if not fetch_lake(cluster):
        return "the lake could not be fetched"
    shards = cluster.inside(
        lambda: ask(
            cluster,
            "SELECT key FROM store_shard WHERE state = 'done' AND survey_id = "
            f"(SELECT id FROM store_survey WHERE slug = '{name}')",
        )
    )
    folder = cluster.folder / "user" / "lake" / name / "lookups"
    paths = [str(folder / f"{key}.parquet") for (key,) in shards]
    rows = duckdb.sql(
        f"SELECT name, [a.data for a in answers] FROM read_parquet({paths}) WHERE type = 'A'"
    ).fetchall()
    expected = {found: [counting.address_of(found)] for found in counting.names_of(zones, LABELS)}
    lost, doubled = len(expected) - len(dict(rows)), len(rows) - len(dict(rows))
    wrong = sum(expected.get(found) != addresses for found, addresses in rows)
    print(f"{name}: {len(rows):,} names; {lost} lost, {doubled} doubled, {wrong} wrong", flush=True)
    return f"{name}: names differ" if lost or doubled or wrong else ""


def main() -> int:
    """Run the drill, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--every", type=float, default=6.0, help="seconds between disturbances")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--zones", type=int, default=60)
    given = parser.parse_args()
    if os.geteuid():
        print("skipped: network namespaces need root")
        return 77
    with built() as cluster:
        return drill(cluster, given)


def drill(cluster: Cluster, given: argparse.Namespace) -> int:
    """One survey in peace, then others among disturbances; print and judge what was found."""
    calm = run_survey(cluster, "calm", given.zones)
    faults = [check_rows(cluster, "calm", given.zones)]
    paths = ["/", "/surveys/", "/s/calm/", "/s/calm/domains/", "/api/v1/surveys/calm"]
    paths += [f"/api/v1/surveys/calm/tables/{table_id}" for table_id in sorted(calm)[:5]]
    end, number = time.monotonic() + 60 * given.minutes, 0
    first = cluster.memory_mb()
    audits = Audits([cluster.network.address_of(web) for web in WEBS], "calm", cluster.inside)
    campaigns, uploads = create_loads(cluster)
    with (
        Disturbances(cluster, given.seed, given.every) as found,
        Visitors(cluster, paths) as seen,
        audits,
        campaigns,
        uploads,
    ):
        while time.monotonic() < end:
            number += 1
            tables = run_survey(cluster, f"survey{number}", given.zones)
            different = [table_id for table_id in calm if tables.get(table_id) != calm[table_id]]
            if different:
                faults.append(f"survey{number}: tables differ: {', '.join(different)}")
            faults.append(check_rows(cluster, f"survey{number}", given.zones))
        # What was started again ends with the thread of the disturbances.
        last = cluster.memory_mb()
    print(f"disturbances: {found.counts.total()}, {dict(sorted(found.counts.items()))}")
    print(f"pages: {dict(seen.counts)}")
    print("memory, MB: " + ", ".join(f"{r} {first.get(r, 0):.0f} to {last[r]:.0f}" for r in last))
    print(f"audits: {audits.done}, {len(audits.faults)} lost, doubled or different")
    print(f"uploads: {uploads.done}, {len(uploads.faults)} lost, left or different")
    faults += [*audits.faults, *uploads.faults, *check_clients(cluster)]
    faults += check_campaigns(cluster, campaigns)
    faults = [fault for fault in faults if fault]
    print("\n".join(faults) or f"{number} surveys: every table as in peace")
    return 1 if faults or not seen.counts["answered"] else 0


if __name__ == "__main__":
    sys.exit(main())
