"""A new probe: three files beside its documentation and test, measured and shown on page and API.

The files are laid over the packages in a process of its own, which measures a real server with
``campaign start --here`` and requests page, API and exports.
"""

import json
import subprocess
import sys

from tests import forks
from tests.probes.servers import listen, running

# RFC 864: the server sends characters to everyone who connects.
PROBE = '''
"""Chargen (RFC 864): the time until the first characters, and how many there are."""

import socket
from dataclasses import dataclass

from core.clock import Clock
from probes.net.deadlines import status_of_error
from probes.net.round_trips import measure_round_trips
from probes.net.run_cost import RunCost, transfer_cost
from probes.records import Attempt, ProbeStatus, RoundTrips, Target

NAME, VERSION, UNIT, METRIC = "chargen", 1, "ms", ""


@dataclass(frozen=True, slots=True)
class Config:
    count: int = 2
    timeout_s: float = 2.0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


def cost(config: Config) -> RunCost:
    return transfer_cost(100, config.count)


def run(target: Target, config: Config, clock: Clock) -> RoundTrips:
    def measure(endpoint):
        return "tcp", tuple(_once(endpoint, config, clock) for _ in range(config.count))

    return measure_round_trips((NAME, VERSION), target, config, clock, measure)


def _once(endpoint, config, clock):
    with socket.socket(endpoint.domain, socket.SOCK_STREAM) as sock:
        sock.settimeout(config.timeout_s)
        try:
            sock.connect(endpoint.sockaddr)
            start = clock.monotonic()
            if not sock.recv(72):
                return Attempt(ProbeStatus.MALFORMED)
            return Attempt(ProbeStatus.OK, (clock.monotonic() - start) * 1e3)
        except OSError as error:
            return Attempt(status_of_error(error))
'''
REPORT = '''
"""Chargen: the time until the first characters."""

from analysis.campaigns.probe_reports.probe_report import Limit, ProbeReport, Statistic

REPORT = ProbeReport(
    id="probe-chargen",
    title="Chargen",
    probes=("chargen",),
    statistics=(Statistic("first_characters", "ms"),),
    limits=(Limit("teletypes", "first_characters", 5_000, 0.95, "95 % in 5 s", "RFC 864"),),
)
'''
RUN = """
import json, os, sys
from importlib import import_module

overlay, target, schedule = sys.argv[1:4]
for package in ("probes", "probes.kinds", "analysis.campaigns.probe_reports.kinds"):
    import_module(package).__path__.insert(0, os.path.join(overlay, *package.split(".")))
os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
import django
django.setup()
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0)
asked = ["--here", "--target", target, "--schedule", schedule, "--allow-network", "127.0.0.0/8"]
call_command("campaign", "start", "--name", "new", "--json", *asked, stdout=open(os.devnull, "w"))
from webapp.store.models import Campaign
row = Campaign.objects.get()
Campaign.objects.update(owner=None)
client, home = Client(SERVER_NAME="localhost"), f"/wide-area/{row.slug}/"
api = f"/api/v1{home}tables/probe-chargen."
pages = {name: home + name + "/" for name in ("probes", "probes/chargen", "suitability")}
pages |= {kind: api + kind for kind in ("json", "csv", "jsonl")}
found = {name: client.get(path) for name, path in pages.items()}
print(json.dumps({n: [r.status_code, r.content.decode()] for n, r in found.items()}))
"""


def test_a_probe_of_three_files_is_measured_and_shown(tmp_path):
    overlay = tmp_path / "overlay"
    registry = (forks.ROOT / "probes" / "registry.py").read_text()
    files = {
        "probes/kinds/chargen.py": PROBE,
        "probes/registry.py": registry.replace(
            "    dns_latency,\n", "    chargen,\n    dns_latency,\n"
        ),
        "analysis/campaigns/probe_reports/kinds/chargen.py": REPORT,
    }
    for name, text in files.items():
        path = overlay / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    activity = {"name": "characters", "probe": "chargen", "slot_s": 0.5}
    schedule = tmp_path / "schedule.json"
    schedule.write_text(json.dumps({"round_s": 1, "rounds": 2, "activities": [activity]}))

    def send_characters(connection):
        connection.sendall(bytes(range(33, 105)))

    with running(listen(send_characters)) as (server,):
        command = [sys.executable, "-c", RUN, overlay, f"127.0.0.1:{server.port}", schedule]
        env = forks.bare_environment(tmp_path / "data")
        # A fork of the tests has imported the packages already.
        done = subprocess.run(command, cwd=forks.ROOT, env=env, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert {status for status, _ in found.values()} == {200}
    assert "Chargen" in found["probes"][1]
    assert "first characters" in found["probes/chargen"][1]
    assert "teletypes" in found["suitability"][1]
    table = json.loads(found["json"][1])
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    (whole,) = [
        row
        for row in rows
        if row["grouped_by"] == "region" and row["statistic"] == "first_characters"
    ]
    # A busy machine may miss a slot.
    assert whole["n"] == 2 * whole["runs"] > 0
    assert whole["lost"] == 0
    for kind in ("csv", "jsonl"):
        assert found[kind][1].count("first_characters") == sum(
            row["statistic"] == "first_characters" for row in rows
        )
