"""Every operation is typed, and replies are as their schemas say."""

import json
import re
import tomllib
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sites import filled, serve
from webapp.api.framework.examples import BODIES, FIELDS
from webapp.store.requests import texts

JSON = "application/json"
ROOT = Path(__file__).resolve().parents[2]
ID = re.compile(r"[a-z]+(_[a-z]+)+")


@pytest.fixture(scope="module")
def document():
    from webapp.api.routes import api

    return json.loads(json.dumps(api.get_openapi_schema()))


def operations(document):
    for path, of in document["paths"].items():
        for method, operation in of.items():
            yield f"{method} {path}", operation


def failures(document, schema, value):
    checked = {**schema, "components": document["components"]}
    return [str(error) for error in jsonschema_rs.validator_for(checked).iter_errors(value)]


def is_typed(document, schema):
    """Whether a schema names its fields, or is one of the documents that another schema has."""
    name = schema.get("$ref", "").rpartition("/")[2]
    found = document["components"]["schemas"].get(name, schema)
    return bool(found.get("properties")) or name in ("JsonSchema", "Finding")


def test_no_operation_is_untyped(document):
    untyped = []
    for name, operation in operations(document):
        good = {s: r for s, r in operation["responses"].items() if s.isdigit() and int(s) < 300}
        kept = [
            good and operation.get("security") is not None,
            bool(operation.get("summary")) and bool(operation.get("description")),
            ID.fullmatch(operation["operationId"]),
            all(parameter.get("schema") for parameter in operation["parameters"]),
            all("example" in p for p in operation["parameters"] if p["in"] in ("path", "header")),
        ]
        for status, reply in good.items():
            content = reply.get("content", {})
            kept.append(status == "204" or content)
            kept += ["schema" in c for c in content.values()]
            shown = content.get(JSON)
            kept.append(not shown or ("example" in shown and is_typed(document, shown["schema"])))
        for content in operation.get("requestBody", {}).get("content", {}).values():
            kept.append("schema" in content and "example" in content)
        if not all(kept):
            untyped.append((name, [at for at, one in enumerate(kept) if not one]))
    assert not untyped


def test_examples_are_as_their_schemas_say(document):
    wrong = []
    for name, operation in operations(document):
        shown = [
            content
            for reply in (*operation["responses"].values(), operation.get("requestBody", {}))
            for kind, content in reply.get("content", {}).items()
            if kind == JSON
        ]
        shown += [one for one in operation["parameters"] if "example" in one]
        for one in shown:
            wrong += [(name, e) for e in failures(document, one["schema"], one["example"])]
    assert not wrong


def test_every_example_is_used(document):
    models = document["components"]["schemas"]
    known = {field for of in models.values() for field in of.get("properties", {})}
    known |= {p["name"] for _, operation in operations(document) for p in operation["parameters"]}
    for name in FIELDS:
        model, _, field = name.rpartition(".")
        assert field in (models[model]["properties"] if model else known), name
    assert set(BODIES) <= set(models)


def test_operations_have_one_name_each_and_headers_where_they_matter(document):
    found = dict(operations(document))
    names = [operation["operationId"] for operation in found.values()]
    assert len(names) == len(set(names)) >= 134
    headers = {
        name: {p["name"] for p in operation["parameters"] if p["in"] == "header"}
        for name, operation in found.items()
    }
    for kind in ("surveys", "audits", "recommendations", "measurements"):
        assert "Idempotency-Key" in headers[f"post /api/v1/{kind}"]
    for kind in ("surveys/{slug}", "audits/{slug}", "screening/pools/{key}"):
        assert headers[f"get /api/v1/{kind}"] == {"If-None-Match"}
        replies = found[f"get /api/v1/{kind}"]["responses"]
        assert "ETag" in replies["200"]["headers"]
        assert "304" in replies
    # Names of modules in those of components tell two models of one name apart.
    assert not [name for name in document["components"]["schemas"] if "webapp" in name]
    assert set(document["components"]["securitySchemes"]) == {"token", "session"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder, existing = filled("tests.api.objects", tmp_path_factory)
    with serve(folder, NEPHOSCOPE_NAME_SERVERS="127.0.0.1:9") as url:
        yield SimpleNamespace(url=url, existing=existing)


def ask(site, who, path, method="GET", body=None):
    headers = {"Authorization": f"Bearer {site.existing['tokens'][who]}", "Content-Type": JSON}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{site.url}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.headers["Content-Type"], reply.read()
    except HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read()


def values(existing, path):
    of_campaigns = "/wide-area" in path or "/measurements" in path
    named = existing["measurements" if of_campaigns else "surveys"]
    return {
        "slug": existing["indexed"] if "outages" in path else named[0],
        "before": named[0],
        "after": named[1],
        "domain": "linkedin.com",
        "name": {
            "vantage-points": existing["vantage_points"][0],
            "captures": existing["capture"],
        }.get(path.split("/")[3], "www.linkedin.com"),
        "kind": "not-found" if "/problems/" in path else "json",
        "kind_of_file": "json",
        "table": "latency-regions" if of_campaigns else "regions",
        "key": existing["beacon" if "/beacons/" in path else "pool"],
        "instance": existing["instance"],
        "report_id": existing["report_id"],
        "section": "causes",
        "token": existing["simulation" if "/simulations/" in path else "recommendation"],
        **({"table": "traffic-clouds"} if "captures" in path else {}),
        **({"slug": existing["audit"]} if "/audits/" in path else {}),
        **({"slug": existing["policy"]} if "/audit-policies/" in path else {}),
        **({"slug": existing["domain_list"]} if "/domain-lists/" in path else {}),
        **({"slug": existing["schedule"]} if "/schedules/" in path else {}),
        **({"slug": existing["endpoint"]} if "/alert-endpoints/" in path else {}),
        **({"name": existing["search"]} if "/networks/" in path else {}),
        **({"name": existing["upload"]} if path.endswith("/upload") else {}),
        "secret": existing["pool_secret"],
    }


QUERIES = {
    "get_survey_outage": "?kind=region&provider=aws&target=us-east-1",
    "get_campaign_samples": "?vantage=v-one&region=us-east-1",
    "get_campaign_paths": "?vantage=v-one&region=us-east-1",
}


def test_replies_are_as_their_schemas_say(document, site):
    wrong, checked = [], 0
    for name, operation in operations(document):
        method, path = name.split(" ")
        reply = operation["responses"].get("200", {}).get("content", {}).get(JSON)
        if method != "get" or not reply:
            continue
        address = path.format(**values(site.existing, path))
        who = operation.get("x-role", "tenant")
        status, kind, body = ask(site, who, address + QUERIES.get(operation["operationId"], ""))
        if (status, kind.partition(";")[0]) != (200, JSON):
            wrong.append((name, address, status, body[:200]))
            continue
        wrong += [(name, e[:300]) for e in failures(document, reply["schema"], json.loads(body))]
        checked += 1
    assert not wrong
    assert checked >= 65


ONE_SOURCE = [{"domains": ["example.com"]}, {"domain_list": "suppliers"}, {"survey": "spring"}]
TIMED = {"name": "Weekly", "kind": "survey", "request": {"domains": ["example.com"]}}
BOTH_TIMES = {"cron": "@weekly", "interval_minutes": 60}
BY_SCHEMA = [
    *(("AuditIn", body, True) for body in ONE_SOURCE),
    *(("AuditIn", ONE_SOURCE[n] | ONE_SOURCE[n - 1], False) for n in range(3)),
    ("AuditIn", {}, False),
    ("AuditIn", {"domains": []}, False),
    ("SurveyIn", {"domains": ["", "example.com"]}, True),
    ("SurveyIn", {"domains": "rank,domain\n1,bücher.example\n"}, True),
    *(("SurveyIn", {"domains": given}, False) for given in ("", [], ["example"], "a . b")),
    ("ScheduleIn", TIMED | {"cron": "@weekly"}, True),
    ("ScheduleIn", TIMED | {"cron": "0 6 * * 1", "interval_minutes": None}, True),
    ("ScheduleIn", TIMED | BOTH_TIMES, False),
    ("ScheduleIn", TIMED, False),
    ("ScheduleIn", TIMED | {"interval_minutes": 59}, False),
    ("ScheduleChange", BOTH_TIMES, False),
    ("ScheduleChange", {"is_active": True}, True),
    ("NewLink", {"days": 8}, False),
    ("DomainListIn", {"name": "Zwölf 🫩", "domains": ["example.com"]}, True),
    ("DomainListIn", {"name": "a\u202eb", "domains": ["example.com"]}, False),
    ("DomainListIn", {"name": "   ", "domains": ["example.com"]}, False),
]
ADDRESSES = {
    "AuditIn": "audits/plan",
    "SurveyIn": "plan",
    "ScheduleIn": "schedules",
    "ScheduleChange": "schedules/{schedule}",
    "NewLink": "surveys/{survey}/links",
    "DomainListIn": "domain-lists",
}


def test_schemas_state_which_bodies_are_taken(document, site):
    """What a schema refuses is refused, and what it takes is refused for names alone."""
    names = {"schedule": site.existing["schedule"], "survey": site.existing["surveys"][0]}
    wrong = []
    for model, body, is_valid in BY_SCHEMA:
        by_schema = not failures(document, {"$ref": f"#/components/schemas/{model}"}, body)
        method = "PATCH" if model.endswith("Change") else "POST"
        path = f"/api/v1/{ADDRESSES[model].format(**names)}"
        status, _, answer = ask(site, "tenant", path, method, body)
        taken = status < 400 or b"there is no " in answer
        if (by_schema, taken) != (is_valid, is_valid):
            wrong.append((model, body, by_schema, status, answer[:200]))
    assert not wrong


def test_rules_beyond_schemas_are_those_of_operations(document):
    listed = tomllib.loads((ROOT / "benchmarks/api/semantic_rules.toml").read_text())["rule"]
    known = {operation["operationId"] for _, operation in operations(document)}
    for rule in listed:
        assert set(rule) == {"name", "why", "operations", "refusal", "detail"}
        assert set(rule["operations"]) <= known, rule["name"]
        assert re.fullmatch(rule["refusal"], "invalid-field name") is None
        assert re.search(rule["detail"], "") is None


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_the_pattern_of_names_is_their_rule(text):
    is_name = texts.is_printable(text) and bool(text.strip())
    assert bool(re.search(texts.NAME_PATTERN, text)) == is_name
    assert bool(re.search(texts.TEXT_PATTERN, text)) == texts.is_printable(text)
