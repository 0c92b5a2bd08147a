"""Pools through the API: made, filled, judged, chosen from, shared, and closed to others."""

import json
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from screening import bundle
from screening.report.parsing import parse_report
from tasks.screening import celery_tasks
from webapp.store.access import tokens
from webapp.store.models import Pool, PoolInstance, PoolReport
from webapp.store.screening.ingest import (
    InvalidToken,
    PoolFull,
    Receipt,
    ReportIdReused,
    find_grant,
    read_arrival,
    store_arrivals,
)

SAMPLES = Path(__file__).resolve().parents[2] / "fixtures" / "screening"
POOLS = "/api/v1/screening/pools"
START = 1_790_000_000.0
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return tmp_path


class Person:
    """Somebody with an API token."""

    def __init__(self, name):
        self.user = get_user_model().objects.create_user(name, password="a-long-password-1")
        _, self.secret = tokens.issue(self.user, "test", "write")
        self.client = Client()

    def ask(self, method, path, body=None, **more):
        words = {"Authorization": f"Bearer {self.secret}", **more}
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        data = body if isinstance(body, bytes) else json.dumps(body or {})
        if method in ("get", "delete"):
            return getattr(self.client, method)(path, headers=words)
        return getattr(self.client, method)(path, data, content_type=kind, headers=words)


@pytest.fixture
def ann():
    return Person("ann")


@pytest.fixture
def bob():
    return Person("bob")


@pytest.fixture
def pool(ann):
    found = ann.ask("post", POOLS, {"name": "shop", "wanted": 2})
    assert found.status_code == 201
    return found.json()


def make(number, stalls=0, *, name=None, seconds=100.0, at=START, machine_id=""):
    """A report of one CPU with so many stalls of 20 ms, evenly spread."""
    from screening.agent_parts.histograms import find_slot

    histogram = [[find_slot(120_000), 100_000]]
    rows = [[int((n + 0.5) * seconds / stalls * 1e6), 20_000, 20_000, 0, 0] for n in range(stalls)]
    if stalls:
        histogram.append([find_slot(20_000_000), stalls])
    document = json.loads((SAMPLES / "report.json").read_bytes())
    cpu = {
        **document["cpus"][0],
        "seconds": seconds,
        "wakeups": 100_000 + stalls,
        "stalls_10ms": stalls,
        "p50_us": 120.0,
        "p99_us": 121.0,
        "p999_us": 122.0,
        "max_us": 20_000.0,
        "histogram": histogram,
        "stalls": rows,
        "causes": {},
    }
    document |= {"report_id": f"{number:032x}", "seconds": seconds, "started_at": at, "cpus": [cpu]}
    document["host"] |= {"name": name or f"vm-{number}", "machine_id": machine_id}
    return document


def call(number, caller, servers, slow=()):
    """A report of network tests; calls to slow servers have a long tail."""
    from screening.agent_parts.histograms import find_slot

    rows = []
    for server in servers:
        late = 60 if server in slow else 0
        pairs = [[find_slot(400_000), 20_000 - late]]
        pairs += [[find_slot(25_000_000), late]] if late else []
        rows += [
            {
                "server": f"{server}:7420",
                "rate": rate,
                "seconds": 100.0,
                "calls": 20_000,
                "answered": 20_000,
                "lost": 0,
                "late": 0,
                "over_10ms": late,
                "p50_us": 400.0,
                "p99_us": 400.0,
                "p999_us": 25_000.0 if late else 400.0,
                "max_us": 25_000.0,
                "histogram": pairs,
            }
            for rate in (100, 200, 500)
        ]
    document = make(number, name=caller)
    return {**document, "cpus": [], "network": rows}


def send(pool, *documents):
    """What the door for reports does once a body has arrived."""
    grant = find_grant(pool["token"])
    return store_arrivals([read_arrival(grant, json.dumps(d).encode()) for d in documents])


def test_reports_become_verdicts_and_the_best_are_chosen(ann, pool):
    send(pool, make(1), make(2, 30), make(3, 500), make(4, 2))
    rows = ann.ask("get", f"{POOLS}/{pool['key']}/instances").json()["results"]
    assert {row["name"]: row["verdict"] for row in rows} == {
        "vm-1": "good",
        "vm-2": "network-test",
        "vm-3": "bad",
        "vm-4": "good",
    }
    choice = ann.ask("get", f"{POOLS}/{pool['key']}/choice").json()
    assert [one["instance"]["name"] for one in choice["chosen"]] == ["vm-1", "vm-4"]
    assert choice["factor"]["k"] == 2.0
    assert choice["factor"]["low"] < 2 < choice["factor"]["high"]
    three = ann.ask("get", f"{POOLS}/{pool['key']}/choice?wanted=3").json()
    assert three["missing"] == 1
    groups = {
        name: [one["instance"]["name"] for one in three[name]]
        for name in ("terminate", "measure_again", "own_load")
    }
    # All stalls of these reports are run delay: other work inside the machines.
    assert groups == {"terminate": [], "measure_again": [], "own_load": ["vm-2", "vm-3"]}
    assert ann.ask("get", f"{POOLS}/{pool['key']}/choice?wanted=0").status_code == 422
    # No row of a database has such a number.
    of_none = f"{POOLS}/{pool['key']}/reports?instance={2**70}"
    assert ann.ask("get", of_none).status_code == 422


def test_an_instance_shows_its_histogram_stalls_and_their_cause(ann, pool):
    send(pool, make(1, 30))
    pk = PoolInstance.objects.get().pk
    found = ann.ask("get", f"{POOLS}/{pool['key']}/instances/{pk}").json()
    (cpu,) = found["cpus"]
    assert sum(count for _, _, count in cpu["histogram"]) == 100_030
    assert len(cpu["stalls"]) == 30
    assert cpu["causes"]["run delay"]["stalls"] == 30
    assert found["report"]["summary"]["reasons"]
    assert found["report"]["cause"] == "run delay"
    body = ann.ask("get", f"{POOLS}/{pool['key']}/reports/{1:032x}")
    assert json.loads(body.content) == make(1, 30)
    assert ann.ask("get", f"{POOLS}/{pool['key']}/reports/{2:032x}").status_code == 404


def test_a_repeated_report_counts_once_and_another_content_is_refused(ann, pool):
    first, again = send(pool, make(1), make(1))
    assert isinstance(first, Receipt)
    assert not first.repeated
    assert again.repeated
    (later,) = send(pool, make(1))
    assert later.repeated
    assert later.verdict == "good"
    (other,) = send(pool, make(1, 500))
    assert isinstance(other, ReportIdReused)
    assert other.field == "report_id"
    assert PoolReport.objects.count() == 1
    row = Pool.objects.get()
    assert row.n_reports == 1
    assert PoolInstance.objects.get().n_reports == 1


def test_an_older_report_that_comes_late_does_not_replace_a_verdict(ann, pool):
    send(pool, make(1, 500, name="vm", at=START))
    send(pool, make(2, 0, name="vm", at=START - 3600))
    one = PoolInstance.objects.get()
    assert one.verdict == "bad"
    assert one.n_reports == 2
    send(pool, make(3, 0, name="vm", at=START + 3600))
    one.refresh_from_db()
    assert one.verdict == "good"


def test_machines_of_one_name_are_told_apart_by_their_machine_id(pool):
    send(pool, make(1, name="vm", machine_id="aa"), make(2, 500, name="vm", machine_id="bb"))
    assert set(PoolInstance.objects.values_list("machine", "verdict")) == {
        ("aa", "good"),
        ("bb", "bad"),
    }


def test_new_marks_judge_every_report_anew(ann, pool):
    send(pool, make(1, 30), make(2, 3))
    changed = ann.ask("patch", f"{POOLS}/{pool['key']}", {"low": 40, "high": 90})
    assert changed.json()["verdicts"]["good"] == 2
    one = PoolInstance.objects.get(name="vm-1")
    assert one.verdict == "good"
    assert one.good_chance > 0.8
    assert "good up to 40" in PoolReport.objects.get(instance=one).summary["reasons"][0]
    refused = ann.ask("patch", f"{POOLS}/{pool['key']}", {"low": 95})
    assert refused.status_code == 422
    assert refused.json()["field"] == "low"


def test_a_revoked_an_expired_and_an_unknown_token_open_nothing(ann, pool):
    with pytest.raises(InvalidToken, match="no pool"):
        find_grant("nsp_nothing")
    grant = find_grant(pool["token"])
    arrival = read_arrival(grant, json.dumps(make(1)).encode())
    (token,) = ann.ask("get", f"{POOLS}/{pool['key']}/tokens").json()["results"]
    assert "sha256" not in token
    assert pool["token"] not in json.dumps(token)
    path = f"{POOLS}/{pool['key']}/tokens/{token['id']}"
    assert ann.ask("delete", path).status_code == 204
    with pytest.raises(InvalidToken, match="revoked"):
        find_grant(pool["token"])
    # Taken before it was revoked, stored after: refused.
    (told,) = store_arrivals([arrival])
    assert isinstance(told, InvalidToken)
    assert not PoolReport.objects.exists()


def test_a_full_pool_refuses_and_keeps_what_it_has(pool, settings):
    send(pool, make(1))
    settings.MAX_POOL_BYTES = Pool.objects.get().n_bytes + 10
    (told,) = send(pool, make(2))
    assert isinstance(told, PoolFull)
    assert PoolReport.objects.count() == 1


def test_pools_of_others_are_not_there(ann, bob, pool):
    send(pool, make(1))
    pk = PoolInstance.objects.get().pk
    base = f"{POOLS}/{pool['key']}"
    reading = [
        "",
        "/instances",
        f"/instances/{pk}",
        "/instances.csv",
        "/reports",
        "/choice",
        "/findings",
        "/logs",
        "/tokens",
        f"/reports/{1:032x}",
    ]
    for path in reading:
        assert bob.ask("get", base + path).status_code == 404, path
        # What takes an account says so, whether there is such a pool or not.
        refused = 401 if path == "/tokens" else 404
        assert Client().get(base + path).status_code == refused, path
    writing = [
        ("patch", "", {"name": "x"}),
        ("delete", "", None),
        ("post", "/tokens", {}),
        ("put", "/share", {}),
        ("delete", "/share", None),
        ("post", "/findings", {}),
        ("patch", f"/instances/{pk}", {"label": "bad"}),
        ("post", "/logs", b"x"),
        ("delete", f"/instances/{pk}", None),
        ("delete", "/tokens/1", None),
    ]
    for method, path, body in writing:
        assert bob.ask(method, base + path, body).status_code == 404, path
    assert bob.ask("get", POOLS).json()["count"] == 0
    # An agent's token reads nothing.
    assert Client().get(base, headers={"Authorization": f"Bearer {pool['token']}"}).status_code in (
        401,
        404,
    )
    assert Pool.objects.get().name == "shop"


def test_a_pool_belongs_to_an_account():
    answer = Client().post(POOLS, "{}", content_type="application/json")
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"


def test_a_share_link_reads_and_its_end_ends_it(ann, pool):
    send(pool, make(1))
    shared = ann.ask("put", f"{POOLS}/{pool['key']}/share").json()
    assert ann.ask("put", f"{POOLS}/{pool['key']}/share").json() == shared
    path = shared["api"].partition("testserver")[2]
    for tail in ("", "/instances", "/choice", "/findings"):
        assert Client().get(path + tail).status_code == 200, tail
    text = Client().get(path).content.decode()
    assert pool["token"] not in text
    assert Client().post(path, {}).status_code == 405
    assert Client().get(path).json()["share"] is None
    ann.ask("delete", f"{POOLS}/{pool['key']}/share")
    assert Client().get(path).status_code == 404
    assert ann.ask("put", f"{POOLS}/{pool['key']}/share").json() != shared


def test_findings_tell_node_from_path_and_settle_the_truth(ann, pool):
    names = [f"vm-{n}" for n in range(1, 7)]
    for at, caller in enumerate(names, 1):
        others = [name for name in names if name != caller]
        send(pool, make(at, 30, name=caller), call(100 + at, caller, others, slow=("vm-3", "vm-5")))
    found = ann.ask("post", f"{POOLS}/{pool['key']}/findings").json()
    heat = found["heatmap"]
    assert heat["test"]["property_of"] == "node"
    assert heat["bad"] == ["vm-3", "vm-5"]
    assert heat["slow_callers"] == []
    assert found["is_analysed"]
    assert found["causes"]["by_cause"]["run delay"]["stalls"] == 180
    truths = dict(PoolInstance.objects.values_list("name", "truth"))
    assert truths == {name: "bad" if name in ("vm-3", "vm-5") else "good" for name in names}
    choice = ann.ask("get", f"{POOLS}/{pool['key']}/choice?wanted=6").json()
    assert len(choice["chosen"]) == 4
    assert choice["expected_bad"] == 0
    section = ann.ask("get", f"{POOLS}/{pool['key']}/findings/heatmap").json()
    assert section == heat
    assert ann.ask("get", f"{POOLS}/{pool['key']}/findings/colour").status_code == 404


def test_labels_calibrate_the_mark(ann, pool):
    send(pool, *(make(n, 3 if n <= 8 else 40) for n in range(1, 17)))
    for one in PoolInstance.objects.all():
        label = "good" if one.per_100s < 10 else "bad"
        answer = ann.ask("patch", f"{POOLS}/{pool['key']}/instances/{one.pk}", {"label": label})
        assert answer.json()["label"] == label
    found = ann.ask("post", f"{POOLS}/{pool['key']}/findings").json()["calibration"]
    assert found["n"] == 16
    assert found["chosen"]["low"] == 3.0
    assert found["held_out"]["false_positive"] == 0
    assert len(found["points"]) == 101


def test_persistence_and_nights_are_found_over_days(ann, pool):
    reports, number = [], 0
    for hour in range(24 * 5):
        for name, base in (("a", 0), ("b", 500), ("c", 1), ("d", 450)):
            number += 1
            stalls = base + (400 if hour % 24 == 3 else 0)
            reports.append(make(number, stalls, name=name, at=START // 86400 * 86400 + hour * 3600))
    send(pool, *reports)
    found = ann.ask("post", f"{POOLS}/{pool['key']}/findings").json()
    assert found["persistence"]["test"]["p_value"] < 0.05
    assert found["persistence"]["instances"] == 4
    nights = found["nights"]
    assert nights["found"]
    assert nights["start_minute"] <= 180 < nights["end_minute"]


def test_what_changed_is_analysed_and_only_once(pool):
    send(pool, make(1, 30))
    celery_tasks.analyse_all()
    row = Pool.objects.get()
    assert row.analysed_revision == row.revision
    assert row.findings["causes"]["n"] == 30
    before = row.analysed_at
    celery_tasks.analyse_all()
    assert Pool.objects.get().analysed_at == before


def test_logs_of_other_tools_stand_beside_a_pool(ann, pool):
    data = (SAMPLES / "cyclictest.txt").read_bytes()
    added = ann.ask("post", f"{POOLS}/{pool['key']}/logs?name=ct.txt", data)
    assert added.status_code == 201
    assert added.json()["series"][0]["kind"] == "cyclictest"
    twice = ann.ask("post", f"{POOLS}/{pool['key']}/logs", data)
    assert twice.status_code == 409
    assert "already" in twice.json()["detail"]
    assert ann.ask("post", f"{POOLS}/{pool['key']}/logs", b"rubbish").status_code == 422
    (row,) = ann.ask("get", f"{POOLS}/{pool['key']}/logs").json()["results"]
    assert row["name"] == "ct.txt"
    assert ann.ask("delete", f"{POOLS}/{pool['key']}/logs/{row['id']}").status_code == 204


def test_exports_hold_every_instance(ann, pool):
    send(pool, make(1), make(2, 500))
    lines = ann.ask("get", f"{POOLS}/{pool['key']}/instances.csv").content.decode().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("id,name,machine,verdict")
    assert ann.ask("get", f"{POOLS}/{pool['key']}/instances.jsonl").status_code == 200
    assert ann.ask("get", f"{POOLS}/{pool['key']}/instances.exe").status_code == 404


def test_a_deleted_pool_leaves_no_file(ann, pool, folder):
    send(pool, make(1))
    assert list(folder.rglob("*.pack"))
    assert ann.ask("delete", f"{POOLS}/{pool['key']}").status_code == 204
    assert not list(folder.rglob("*.pack"))
    assert not PoolReport.objects.exists()


def test_the_agent_is_given_out_as_it_stands_and_with_its_site():
    plain = Client().get("/api/v1/screening/agent")
    assert plain.content == bundle.build().encode()
    assert plain["Content-Type"].startswith("text/x-python")
    again = Client().get("/api/v1/screening/agent", headers={"If-None-Match": plain["ETag"]})
    assert again.status_code == 304
    own = Client().get("/agent")
    assert b"SITE_URL = 'http://testserver'\n" in own.content
    compile(own.content, "agent.py", "exec")


def test_a_file_is_judged_without_being_kept():
    data = (SAMPLES / "report.json").read_bytes()
    parse_report(data, START + 1e8)
    answer = Client().post("/api/v1/screening/verdict", data, content_type="application/json")
    assert answer.json()["results"][0]["verdict"] == "bad"
