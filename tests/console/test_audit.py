"""``manage.py audit`` from a domain list to an exit code, on a world with planted violations."""

import csv
import json
import re
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from testbed.worlds.loading import build_world
from tests.console.test_survey import ROOT, Installation
from tests.tasks.site import HANGS_S

LABELS = ["www", "api", "mail", "blog", "shop", "app", "dev", "test", "old", "beta"]
WORLD = ("audits", "--scale", "1/6", "--seed", "3")
# Rules that these observations can decide; the others need a campaign.
POLICY = """
version = 1
name = "planted"
[rules.single-region]
[rules.single-zone]
[rules.residency]
allowed = ["eea"]
[rules.operator-jurisdiction]
[rules.customer-country]
[rules.single-provider]
[rules.single-dns-operator]
[rules.cdn-concentration]
[rules.mail-concentration]
[rules.outage-exposure]
[rules.dangling-name]
[rules.claimable-name]
[rules.open-zone-transfer]
[rules.wildcard]
[rules.no-ipv6]
[rules.no-caa]
[rules.no-dnssec]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return Installation(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def planted(site):
    """The violations of the world, as (rule, domain, discriminator)."""
    code, out, err = site.run("testbed", "truth", *WORLD, "--json")
    assert code == 0, err
    # Rules that compare, or read a campaign, have a benchmark of their own.
    asked = set(re.findall(r"\[rules\.([a-z0-9-]+)\]", POLICY))
    return {tuple(row) for row in json.loads(out)["violations"] if row[0] in asked}


@pytest.fixture(scope="module")
def audited(site):
    """The first report, of a crawl over sockets; zones and customers are attached after it."""
    (site.folder / "policy.toml").write_text(POLICY)
    (site.folder / "words.txt").write_text("\n".join(LABELS) + "\n")
    server, port, domains = site.serve_testbed(*WORLD)
    try:
        code, out, err = site.run(
            "audit",
            domains,
            "--policy",
            site.folder / "policy.toml",
            "--name-server",
            f"127.0.0.1:{port}",
            "--wordlist",
            site.folder / "words.txt",
            "--json",
        )
    finally:
        server.terminate()
        server.wait(HANGS_S)
    assert code == 1, err
    world = build_world("audits", scale=Fraction(WORLD[2]), seed=int(WORLD[4]))
    zones = [(a, p.region, p.zone) for a, p in world.places.items() if p.zone and p.region]
    attach(site, "zones", ("target", "region", "zone", "confidence"), [(*z, 1) for z in zones])
    attach(site, "customers", ("domain", "country", "weight"), world.customers)
    return json.loads(out), Path(domains)


def attach(site, kind, columns, rows):
    path = site.folder / f"{kind}.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    code, _, err = site.run("study", kind, "domains", path)
    assert code == 0, err


def audit(site, *options, code):
    """Audit the survey of ``audited``; return what the command prints and says."""
    seen, out, err = site.run("audit", "--survey", "domains", *options)
    assert seen == code, err
    return out, err


@pytest.fixture(scope="module")
def report(site, audited):
    out, _ = audit(site, "--policy", site.folder / "policy.toml", "--json", code=1)
    return json.loads(out)


def keys(rows):
    return {(row["rule"], row["subject"], row["discriminator"]) for row in rows}


def test_every_planted_violation_is_found_and_nothing_else(report, planted):
    # Everything that was planted is observable.
    assert keys(report["findings"]) == planted
    assert {rule for rule, _, _ in planted} == {
        line[7:-1] for line in POLICY.splitlines() if line.startswith("[rules.")
    }


def test_what_a_cdn_hides_is_not_judged(report):
    hidden = [r for r in report["not_judged"] if r["rule"] == "single-region"]
    assert hidden
    assert all("CDN" in row["message"] for row in hidden)


def test_every_finding_has_evidence_that_is_in_the_lake(report, site):
    lake = site.folder / "lake" / "domains"
    rows = {}
    for finding in report["findings"]:
        assert finding["evidence"], finding["id"]
        for item in finding["evidence"]:
            table = item["table"]
            if table not in rows:
                paths = f"{lake}/{table}/*.parquet"
                found = duckdb.sql(f"SELECT * FROM read_parquet('{paths}')")
                names = "server" if table == "servers" else "name"
                columns = [c for c in ("domain", names, "address") if c in found.columns]
                rows[table] = set()
                for values in found.select(*columns).fetchall():
                    rows[table] |= {(values[0],), values[:2], values[:3]}
            key = (item.get("domain"), item.get("name"), item.get("address"))
            if table == "zones":
                continue
            short = tuple(value for value in key if value)
            if table == "domains":
                short = short[:1]
            assert short in rows[table], (finding["id"], item)


def test_the_first_report_has_no_zones_and_says_so(audited):
    document, _ = audited
    assert {r["rule"] for r in document["not_judged"]} >= {"single-zone", "customer-country"}
    assert not [r for r in document["findings"] if r["rule"] == "single-zone"]


def test_a_pipeline_fails_on_a_finding_and_passes_with_a_suppression(site, audited, planted):
    policy = site.folder / "one.toml"
    domain = next(key[1] for key in sorted(planted) if key[0] == "single-region")
    head = 'version = 1\nname = "one"\n[rules.single-region]\n'
    policy.write_text(head)
    out, _ = audit(site, "--policy", policy, "--json", code=1)
    failing = {row["subject"] for row in json.loads(out)["findings"]}
    assert domain in failing
    policy.write_text(
        head
        + "".join(
            f'[[suppressions]]\nrule = "single-region"\nsubject = "{subject}"\n'
            'reason = "accepted"\nowner = "platform"\nexpires = 2099-01-01\n'
            for subject in sorted(failing)
        )
    )
    audit(site, "--policy", policy, code=0)
    audit(site, "--policy", policy, "--strict", code=3)


def test_fail_on_decides_what_fails(site, audited):
    policy = site.folder / "low.toml"
    policy.write_text('version = 1\nname = "low"\n[rules.no-caa]\n')
    audit(site, "--policy", policy, code=0)
    audit(site, "--policy", policy, "--fail-on", "low", code=1)


def test_a_baseline_makes_findings_persist(site, audited):
    path = site.folder / "before.json"
    policy = site.folder / "policy.toml"
    audit(site, "--policy", policy, "--format", "json", "-o", path, code=1)
    out, _ = audit(site, "--policy", policy, "--baseline", path, "--json", code=1)
    assert {row["state"] for row in json.loads(out)["findings"]} == {"persisting"}


def test_findings_are_anchored_in_the_lines_of_the_list(site, audited):
    _, domains = audited
    out, _ = audit(site, domains, "--format", "sarif-github", code=1)
    (run,) = json.loads(out)["runs"]
    lines = domains.read_text().splitlines()
    assert run["results"]
    for result in run["results"]:
        location = result["locations"][0]
        region = location["physicalLocation"]["region"]
        subject = location["logicalLocations"][0]["fullyQualifiedName"]
        assert lines[region["startLine"] - 1].endswith(subject)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--policy", "no-such-preset"], "presets are"),
        (["--survey", "nothing"], "no survey nothing"),
        (["--baseline", "README.md", "--survey", "domains"], "baseline"),
        ([], "DOMAINS_FILE"),
    ],
)
def test_bad_input_is_one_line_and_code_2(site, audited, options, words):
    code, out, err = site.run("audit", *options)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1


def test_the_rules_and_the_schema_are_printed(site):
    code, out, _ = site.run("audit", "--list-rules", "--json")
    assert code == 0
    assert {"single-region", "thin-data"} <= {rule["id"] for rule in json.loads(out)}
    code, out, _ = site.run("audit", "--schema")
    assert code == 0
    assert json.loads(out)["properties"]["version"]["const"] == 1


def test_the_reference_page_is_written_from_the_rules(site):
    code, out, _ = site.run("audit", "--list-rules", "--format", "markdown")
    assert code == 0
    assert out == (ROOT / "docs" / "reference" / "audit-rules.md").read_text()
