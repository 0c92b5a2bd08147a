"""Audits, saved lists and policies, and suppressions over HTTP."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.pages import cast
from tests.pages.audits import audit_cast
from webapp.store.access import tokens
from webapp.store.models import Audit, Survey
from webapp.store.surveys.services import Requester

POLICY = {"version": 1, "name": "own", "rules": {"single-region": {"severity": "low"}}}
SUPPRESSION = {
    "rule": "single-region",
    "subject": "*.shop.example",
    "reason": "static pages",
    "owner": "anna",
    "expires": "2099-01-01",
}


@pytest.fixture
def client(db, settings, tmp_path):
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    settings.DATA_DIR, settings.NAME_SERVERS = tmp_path, ["127.0.0.1:9"]
    settings.MAX_ACTIVE_SURVEYS_PER_USER = 10
    return Client(raise_request_exception=False)


class Account:
    """An account that asks with its token."""

    def __init__(self, client, name):
        self.user = get_user_model().objects.create_user(name)
        _, secret = tokens.issue(self.user, "pipeline", "write")
        self._headers, self._client = {"Authorization": f"Bearer {secret}"}, client

    def ask(self, method, path, body=None, status=200, **headers):
        headers = {**self._headers, **headers}
        kind = "application/json"
        reply = getattr(self._client, method)(
            f"/api/v1{path}", body, content_type=kind, headers=headers
        )
        assert reply.status_code == status, reply.content
        return reply

    def get(self, path, **more):
        return self.ask("get", path, **more).json()


@pytest.fixture
def anna(client):
    return Account(client, "anna")


@pytest.fixture
def bert(client):
    return Account(client, "bert")


def test_domain_lists_are_kept_by_account(anna, bert, client):
    body = {"name": "Shops", "domains": ["a.example", "bad_", "a.example"]}
    made = anna.ask("post", "/domain-lists", body, 201)
    found = made.json()
    assert (found["domains"], found["duplicates"], found["n_rejected"]) == (1, 1, 1)
    path = made["Location"].removeprefix("/api/v1")
    tag = anna.ask("get", path)["ETag"]
    anna.ask("get", path, status=304, **{"If-None-Match": tag})
    changed = anna.ask("patch", path, {"domains": "a.example\nb.example"}).json()
    assert (changed["version"], changed["domains"], changed["name"]) == (2, 2, "Shops")
    assert anna.ask("patch", path, {"name": "Both"}).json()["version"] == 2
    assert anna.ask("get", f"{path}/domains.txt").content == b"a.example\nb.example"
    assert [row["name"] for row in anna.get("/domain-lists")["results"]] == ["Both"]
    assert bert.get("/domain-lists")["count"] == 0
    for method, body in (("get", None), ("patch", {"name": "x"}), ("delete", None)):
        bert.ask(method, path, body, 404)
    assert client.post("/api/v1/domain-lists", body, content_type="application/json").status_code
    anna.ask("post", "/domain-lists", {"name": "Empty", "domains": []}, 422)
    row = anna.ask("post", "/audits", {"domain_list": found["id"]}, 202).json()
    anna.ask("delete", path, status=204)
    anna.ask("get", path, status=404)
    assert anna.get(f"/audits/{row['id']}")["source"]["domain_list"] is None


def test_policies_keep_their_text_and_errors_name_the_line(anna, bert):
    text = '# ours\nversion = 1\nname = "own"\n[rules.single-region]\nseverity = "low"\n'
    made = anna.ask("post", "/audit-policies", {"document": text}, 201).json()
    path = f"/audit-policies/{made['id']}"
    assert anna.get(path)["document"] == text
    assert made["rules"] == ["single-region"]
    assert anna.ask("patch", path, {"document": POLICY}).json()["version"] == 2
    bad = anna.ask("post", "/audit-policies", {"document": text.replace("low", "lowest")}, 422)
    assert (bad.json()["line"], bad.json()["type"]) == (5, "/api/v1/problems/bad-input")
    names = [row["id"] for row in anna.get("/audit-policies")["results"]]
    assert names == ["concentration", "default", "eu-residency", "resilience", made["id"]]
    assert bert.get("/audit-policies")["count"] == 4
    assert "[rules.single-region]" in bert.get("/audit-policies/resilience")["document"]
    bert.ask("get", path, status=404)
    bert.ask("patch", "/audit-policies/resilience", {"name": "mine"}, 404)
    assert anna.get("/audit-policies/schema")["properties"]["version"]["const"] == 1
    assert {"single-region", "thin-data"} <= {r["id"] for r in anna.get("/audit-rules")["results"]}
    anna.ask("delete", path, status=204)


def test_suppressions_are_checked_as_policies_are(anna, bert):
    made = anna.ask("post", "/audit-suppressions", SUPPRESSION, 201).json()
    path = f"/audit-suppressions/{made['id']}"
    for field, value in (
        ("rule", "no-such"),
        ("reason", "x"),
        ("expires", "someday"),
        ("fingerprint", "12"),
        ("policy", "no-such"),
    ):
        status = 404 if field == "policy" else 422
        anna.ask("post", "/audit-suppressions", {**SUPPRESSION, field: value}, status)
    assert anna.ask("patch", path, {"expires": "2030-01-01"}).json()["expires"] == "2030-01-01"
    anna.ask("patch", path, {"subject": ""}, 422)
    bert.ask("patch", path, {"reason": "mine now"}, 404)
    bert.ask("delete", path, status=404)
    assert bert.get("/audit-suppressions")["count"] == 0
    assert anna.get("/audit-suppressions")["count"] == 1
    anna.ask("delete", path, status=204)


def test_the_cost_comes_first_and_stores_nothing(anna):
    cast.atlas("Atlas")
    plan = anna.ask("post", "/audits/plan", {"domains": "a.example\nbad_"}).json()
    assert (plan["domains"], plan["survey"]["n_rejected"], plan["record_queries"]) == (1, 1, 3)
    assert plan["estimated_queries"] == plan["survey"]["estimated_queries"] + 3
    assert plan["survey"]["wildcard_queries"] == 400
    assert plan["survey"]["max_wildcard_queries"] == 1_100
    body = {"survey": "atlas", "policy_document": POLICY}
    plan = anna.ask("post", "/audits/plan", body).json()
    assert (plan["survey"], plan["estimated_queries"]) == (None, 0)
    assert plan["rules"] == ["single-region"]
    # A survey whose list is not stored here, as one from a package: nothing can be asked about it.
    plan = anna.ask("post", "/audits/plan", {"survey": "atlas"}).json()
    assert (plan["survey"], plan["record_queries"]) == (None, 0)
    assert not Audit.objects.exists()
    assert not Survey.objects.exclude(slug="atlas").exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "domains"),
        ({"domains": "a.example", "survey": "atlas"}, "domains"),
        ({"survey": "no-such"}, "survey"),
        ({"survey": "atlas", "policy": "no-such"}, "policy"),
        ({"survey": "atlas", "campaign": "no-such"}, "campaign"),
        ({"survey": "atlas", "previous": "no-such"}, "previous"),
        ({"survey": "atlas", "fail_on": "fatal"}, "fail_on"),
        ({"survey": "atlas", "policy_document": {"version": 2}}, "rules"),
        ({"survey": "atlas", "nonsense": 1}, "nonsense"),
    ],
)
def test_a_request_that_cannot_be_is_refused_by_its_field(anna, body, field):
    cast.atlas("Atlas")
    for path in ("/audits", "/audits/plan"):
        problem = anna.ask("post", path, body, 422).json()
        assert field in (problem.get("field") or "") or field in problem["detail"]


def test_an_audit_is_its_makers_until_it_is_shared(anna, bert, client):
    row = audit_cast.audit(cast.atlas("Atlas"), Requester(user=anna.user))
    path = f"/audits/{row.slug}"
    found = anna.get(f"{path}/findings?limit=3&category=finding")
    assert len(found["results"]) == 3
    assert found["next"] == "3"
    anna.ask("get", f"{path}/findings?severity=fatal", status=422)
    assert anna.get("/audits?status=finished")["count"] == 1
    assert anna.get("/audits?status=failed")["count"] == 0
    for method, address, body in (
        ("get", path, None),
        ("get", f"{path}/findings", None),
        ("get", f"{path}/report.csv", None),
        ("get", f"{path}/events", None),
        ("delete", path, None),
        ("put", f"{path}/visibility", {"public": True}),
    ):
        bert.ask(method, address, body, 404)
    assert bert.get("/audits")["count"] == 0
    link = anna.ask("post", f"{path}/links", {"days": 7}, 201).json()["link"]
    shared = link.removeprefix("http://testserver").rstrip("/")
    report = client.get(f"{shared}/api/v1{path}/report", headers={"Accept": "text/csv"})
    assert report.status_code == 200
    assert report.content.startswith(b"id,outcome,severity")
    page = client.get(f"{shared}/audits/{row.slug}/").content.decode()
    assert "fail the resilience policy" in page
    assert "/s/atlas/" not in page
    anna.ask("put", f"{path}/visibility", {"public": True})
    assert bert.get(path)["is_public"]
    bert.ask("delete", path, status=403)
    anna.ask("delete", path, status=204)
    assert not Audit.objects.exists()


def test_findings_are_a_conflict_before_there_are_any(anna):
    row = anna.ask("post", "/audits", {"domains": "a.example"}, 202).json()
    assert row["status"] == "surveying"
    assert row["step"] == "survey"
    anna.ask("get", f"/audits/{row['id']}/findings", status=409)
    anna.ask("get", f"/audits/{row['id']}/report.json", status=409)


def test_an_account_has_so_many_audits_at_once(anna, monkeypatch):
    cast.atlas("Atlas")
    monkeypatch.setattr("webapp.store.audits.services.MAX_OPEN", 1)
    body = {"survey": "atlas", "policy_document": POLICY}
    anna.ask("post", "/audits", body, 202)
    problem = anna.ask("post", "/audits", body, 429)
    assert problem.json()["type"].endswith("/open-audits")
    assert problem["Retry-After"] == "30"
