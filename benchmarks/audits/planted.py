"""Proves which planted violations an audit finds, and that the evidence of each finding exists.

``python -m benchmarks.audits.planted [--seed N] [--scale 1/N]``: 300 domains of the world
``audits`` are surveyed over sockets, then the same domains a version later, with zones, customers
and an imported measurement campaign; the audit of the later version is next to what was planted.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.audits.scoring import Lake, score_rules, table_of
from testbed.world.model import World
from testbed.worlds.audit_measurements import MAX_P95_MS, VANTAGES_PER_COUNTRY
from testbed.worlds.loading import build_world

ROOT = Path(__file__).resolve().parents[2]
BEFORE, AFTER, CAMPAIGN = "audits", "audits-later", "measured"
LABELS = ("www", "api", "mail", "blog", "shop", "app", "dev", "test", "old", "beta")
PARAMETERS = {
    "residency": 'allowed = ["eea"]',
    "slow-country": f'max_p95_ms = {MAX_P95_MS}\ncountries = ["DE", "JP", "US"]',
}
PINGS, JITTER_MS = 16, 0.5
MEASURED_AT, DAY = "2026-11-20T12:00:00Z", "2026-11-01"
# (address of a hop, AS) of the ISPs, the network of each, and that of the vantage points.
ISPS = (("4.0.0.1", 3356), ("4.1.0.1", 1299), ("4.2.0.1", 2914))
ISP_NETWORKS = ("4.0.0.0/16", "4.1.0.0/16", "4.2.0.0/16")
CLIENT_NETWORK, CLIENT_ASN = "5.0.0.0/16", 64500
CLOUD_ASNS = {"aws": 16509, "azure": 8075, "google": 15169}
RANGE_FILES = {
    "aws": "aws-ip-ranges.json",
    "azure": "azure-service-tags.json",
    "google": "google-cloud.json",
}


class Installation:
    """A data folder, used through the command line alone."""

    def __init__(self, folder: Path, scale: str, seed: int) -> None:
        self.folder, self.world = folder, ("--scale", scale, "--seed", str(seed))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NEPHOSCOPE", "DATABASE"))}
        self.env = kept | {"NEPHOSCOPE_DATA": str(folder)}

    def run(self, *arguments: object, accept: tuple[int, ...] = (0,)) -> str:
        """What a command prints; raises ``RuntimeError`` for another exit code."""
        return self.complete(*arguments, accept=accept).stdout

    def complete(self, *arguments: object, accept: tuple[int, ...]) -> Any:
        """Run it and return also its standard error."""
        command = [sys.executable, str(ROOT / "manage.py"), *map(str, arguments)]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode not in accept:
            raise RuntimeError(f"{arguments[0]} ended with {done.returncode}: {done.stderr}")
        return done

    @contextmanager
    def serve(self, world: str) -> Iterator[tuple[str, str]]:
        """The address of a world's server and the path of its domain list."""
        command = [sys.executable, str(ROOT / "manage.py"), "testbed", "serve", world]
        command += [*self.world, "--port", "0"]
        server = subprocess.Popen(command, env=self.env, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        try:
            line = next(row for row in server.stderr if row.startswith("answering"))
            port, domains = (
                line.split("port ")[1].split(";")[0],
                line.split("survey ")[1].split()[0],
            )
            yield f"127.0.0.1:{port}", domains
        finally:
            server.terminate()
            server.wait()


def main() -> int:
    """Run and print; 1 where a violation was missed, made up, or has no evidence."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", default="1", help="1 are 300 domains")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nephoscope-") as folder:
        return compare(Installation(Path(folder), options.scale, options.seed))


def compare(site: Installation) -> int:
    """Survey both versions, audit the later one, print its scores."""
    policy = write_policy(site)
    words = site.folder / "words.txt"
    words.write_text("\n".join(LABELS) + "\n")
    survey(site, BEFORE, words)
    with site.serve(AFTER) as (server, domains):
        crawl(site, server, domains, AFTER, words)
        attach(site, AFTER)
        truth = json.loads(site.run("testbed", "truth", AFTER, *site.world, "--json"))
        import_campaign(site, truth)
        audit = ("audit", "--survey", AFTER, "--previous", BEFORE, "--campaign", CAMPAIGN, "--json")
        report = json.loads(site.run(*audit, "--policy", policy, "--ask-records", accept=(0, 1, 3)))
    planted = [tuple(row) for row in truth["violations"]]
    rules = [rule["id"] for rule in json.loads(site.run("audit", "--list-rules", "--json"))]
    scores = score_rules(report, planted, rules)
    lake = site.folder / "lake"
    lost = Lake(lake / AFTER, lake / "measurements" / CAMPAIGN).unresolved(report)
    n = report["summary"]["domains"]
    print(f"{n} domains, {len(report['findings'])} findings\n\n{table_of(scores)}\n")
    print(f"findings whose evidence is not in the lake: {len(lost)}")
    print("\n".join(lost[:5]), end="")
    is_stale = check_stale_data(site, words.with_name("stale.toml"), n)
    return int(bool(lost) or not is_stale or any(s.missed or s.extra for s in scores))


def write_policy(site: Installation) -> Path:
    """A policy of every rule that can be named."""
    rules = [rule["id"] for rule in json.loads(site.run("audit", "--list-rules", "--json"))]
    tables = [
        f"[rules.{rule}]\n{PARAMETERS.get(rule, '')}\n" for rule in rules if rule != "thin-data"
    ]
    path = site.folder / "policy.toml"
    path.write_text('version = 1\nname = "planted"\n' + "".join(tables))
    return path


def survey(site: Installation, world: str, words: Path) -> None:
    """Survey a version of the world over sockets; what no crawl sees is attached."""
    with site.serve(world) as (server, domains):
        crawl(site, server, domains, world, words)
    attach(site, world)


def crawl(site: Installation, server: str, domains: str, name: str, words: Path) -> None:
    """Survey a domain list under a name."""
    site.run("survey", domains, "--name", name, "--name-server", server, "--wordlist", words)


def attach(site: Installation, world: str) -> None:
    """Attach the zones of addresses and the customers of domains to a survey."""
    built = build(site, world)
    places = built.places.items()
    zones = [(a, p.region, p.zone, 1) for a, p in places if p.zone and p.region]
    for kind, rows in (
        ("zones", [("target", "region", "zone", "confidence"), *zones]),
        ("customers", [("domain", "country", "weight"), *built.customers]),
    ):
        path = site.folder / f"{kind}.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        site.run("study", kind, world, path)


def import_campaign(site: Installation, truth: dict[str, Any]) -> None:
    """Import pings and traceroutes from vantage points of each country to each region.

    They are in Globalping's form. Owners of hops come from an imported table of origin ASes, and
    from range files, which real campaigns are placed by, too.
    """
    noise = random.Random(site.world[3])
    targets = targets_of(site)
    import_owners(site)
    measured = []
    for region in sorted({region for times in truth["rtt_ms"].values() for region in times}):
        measured.append(pings(region, truth["rtt_ms"], noise))
        if region in targets:
            measured.append(traceroutes(region, targets[region], truth["routes"][region]))
    path = site.folder / "measured.json"
    path.write_text(json.dumps(measured))
    site.run("campaign", "import", path, "--form", "globalping", "--name", CAMPAIGN)


def build(site: Installation, world: str) -> World:
    """A version of the world, with known addresses and places."""
    return build_world(world, scale=Fraction(site.world[1]), seed=int(site.world[3]))


def targets_of(site: Installation) -> dict[str, str]:
    """An address of each region that the world uses."""
    places = sorted(build(site, AFTER).places.items())
    return {f"{p.provider} {p.region}": address for address, p in places if p.region}


def import_owners(site: Installation) -> None:
    """Import the origin AS of every prefix of the world and of the ISPs, and its range files."""
    rows = [f"{network}\t{asn}" for network, (_, asn) in zip(ISP_NETWORKS, ISPS, strict=True)]
    rows.append(f"{CLIENT_NETWORK}\t{CLIENT_ASN}")
    for ranges in build(site, AFTER).ranges:
        asn = CLOUD_ASNS[ranges.provider]
        rows += [f"{entry.prefix}\t{asn}" for entry in ranges.entries if ":" not in entry.prefix]
    path = site.folder / "origins.dat"
    path.write_text("\n".join(rows) + "\n")
    site.run("asn", "import", path, "--as-of", DAY)
    (folder,) = site.folder.glob(f"worlds/{AFTER}-*")
    for provider, name in RANGE_FILES.items():
        # Generated files have another time than their token.
        file = folder / name
        site.run("ranges", "import", provider, file, "--as-of", DAY, "--force")


def pings(region: str, rtt_ms: dict[str, dict[str, float]], noise: random.Random) -> Any:
    """One region as all vantage points see it."""
    results = []
    for country, times in sorted(rtt_ms.items()):
        for number in range(VANTAGES_PER_COUNTRY):
            timings = [{"rtt": times[region] + noise.uniform(0, JITTER_MS)} for _ in range(PINGS)]
            result = {"status": "finished", "timings": timings, "stats": {"total": PINGS}}
            results.append({"probe": probe_of(country, number), "result": result})
    return measurement("ping", region, results)


def traceroutes(region: str, target: str, counts: list[int]) -> Any:
    """Routes to an address of a region through its ISPs, as many through each as ``counts``."""
    first_hop = CLIENT_NETWORK.replace("0.0/16", "0.9")
    results = []
    for isp, n_routes in enumerate(counts):
        for _ in range(n_routes):
            hops = [first_hop, ISPS[isp][0], target]
            result = {
                "status": "finished",
                "resolvedAddress": target,
                "hops": [
                    {"resolvedAddress": hop, "timings": [{"rtt": 1.0 + n}], "stats": {"total": 1}}
                    for n, hop in enumerate(hops)
                ],
            }
            results.append({"probe": probe_of("DE", len(results)), "result": result})
    return measurement("traceroute", region, results)


def probe_of(country: str, number: int) -> dict[str, Any]:
    """A vantage point."""
    return {"country": country, "city": f"City {number}", "asn": CLIENT_ASN}


def measurement(kind: str, region: str, results: list[Any]) -> dict[str, Any]:
    """A measurement of a region as Globalping gives it."""
    target = region.replace(" ", "/")
    return {"type": kind, "target": target, "createdAt": MEASURED_AT, "results": results}


def check_stale_data(site: Installation, path: Path, n_domains: int) -> bool:
    """Whether data older than the policy accepts give no finding and no pass; prints it."""
    path.write_text(
        'version = 1\nname = "stale"\n[data]\nmax_age_days = 1e-9\n[rules.single-region]\n'
    )
    # Where nothing was judged the command writes no report, and ends with 3.
    done = site.complete("audit", "--survey", AFTER, "--policy", path, accept=(0, 1, 3))
    print(f"stale data, exit code {done.returncode}: {done.stderr.strip()}")
    whole = f"{n_domains:,} domains: 0 findings, 0 suppressed, {n_domains:,} not judged"
    return done.returncode == 3 and whole in done.stderr and not done.stdout


if __name__ == "__main__":
    sys.exit(main())
