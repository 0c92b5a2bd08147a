"""Hooks of schemathesis: most cases name things that exist, and semantic refusals are known.

The environment has ``EXISTING``, the file that ``tests.api.objects`` printed; ``ROLE``, one of
operator, tenant and anonymous; ``SITE``, the address of the site; and ``REFUSED``, the file into
which the number of refusals by each rule of ``semantic_rules.toml`` is written.
"""

import atexit
import itertools
import json
import os
import random
import re
import tomllib
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation

EXISTING: dict[str, Any] = json.loads(Path(os.environ["EXISTING"]).read_text())
ROLE, SITE = os.environ["ROLE"], os.environ["SITE"]
OWNED: dict[str, Any] = EXISTING["owned"].get(ROLE, EXISTING["owned"]["tenant"])
TOKEN: str = EXISTING["tokens"].get(ROLE, "")
RULES = tomllib.loads((Path(__file__).parent / "semantic_rules.toml").read_text())["rule"]
# The rest stays as it was generated, so that what does not exist is requested too.
SHARE, SHARE_STATEFUL = 0.9, 0.5
KINDS = ("json", "csv", "jsonl", "parquet")
SURVEY_TABLES = ("providers.json", "regions.csv", "regions", "patterns.jsonl", "regions.parquet")
CAMPAIGN_TABLES = ("latency-regions", "latency-grid.parquet", "latency-regions.csv")
REGIONS = ("us-east-1", "eu-west-1")
DOMAINS = ["example.com", "example.org", "xn--bcher-kva.example"]
SAMPLES = "round,client,region,value\n0,c1,us-east-1,20\n0,c1,eu-west-1,90\n0,c1,sa-east-1,70\n"
LOG = "value,starttime,VM_id\n" + "".join(f"{n / 10},{n},vm-1\n" for n in range(1, 400))
POLICY = {"version": 1, "name": "ours", "rules": {"single-region": {}}}
numbers = itertools.count()
# Refusals by the name of their rule.
refused: Counter[str] = Counter()


def _path_values(path: str) -> dict[str, Any]:
    """Names of stored things for the parameters of an address."""
    of_campaigns = "wide-area" in path or "measurements" in path
    named = OWNED["measurements" if of_campaigns else "surveys"]
    if "/{before}/{after}" in path:
        named = EXISTING["measurements" if of_campaigns else "surveys"]
    known = {
        "slug": random.choice(named),
        "before": named[0],
        "after": named[-1],
        "kind": random.choice(KINDS),
        "kind_of_file": random.choice(KINDS),
        "domain": random.choice(("linkedin.com", "amazon.com")),
        "name": random.choice(("www.linkedin.com", "api.linkedin.com")),
        "table": random.choice(CAMPAIGN_TABLES if of_campaigns else SURVEY_TABLES),
        "key": OWNED["pool"],
        "secret": OWNED["pool_secret"],
        "instance": OWNED["instance"],
        "report_id": OWNED["report_id"],
        "log": OWNED["log"],
        "message_id": OWNED["message_id"],
        "number": OWNED["suppression"],
        "section": random.choice(("causes", "calibration", "heatmap")),
    }
    return known | _values_of_kind(path)


# What parameters are instead, where an address holds the first word.
_OF_KIND: dict[str, Callable[[], dict[str, Any]]] = {
    "/surveys/{slug}/outages": lambda: {"slug": EXISTING["indexed"]},
    "/surveys/{slug}/package": lambda: {"slug": EXISTING["packaged"]},
    "/surveys/{slug}/domains/": lambda: {"slug": EXISTING["surveys"][0]},
    "/surveys/{slug}/names/": lambda: {"slug": EXISTING["surveys"][0]},
    "/recommendations/": lambda: {
        "token": OWNED["recommendation"],
        "kind": random.choice(KINDS[1:]),
    },
    "/simulations/": lambda: {"token": OWNED["simulation"]},
    "/vantage-points/": lambda: {"name": random.choice(EXISTING["vantage_points"])},
    "/networks/": lambda: {"name": EXISTING["search"]},
    "/captures/": lambda: {"name": EXISTING["capture"], "table": "traffic-clouds"},
    "/audits/": lambda: {
        "slug": OWNED["audit"],
        "kind": random.choice(("json", "sarif", "csv", "junit")),
    },
    "/audit-policies/": lambda: {"slug": OWNED["policy"]},
    "/tokens/": lambda: {"number": OWNED["pool_token"]},
    "/beacons/": lambda: {"key": OWNED["beacon"]},
    "/problems/": lambda: {"kind": "not-found"},
    "/domain-lists/": lambda: {"slug": OWNED["domain_list"]},
    "/schedules/": lambda: {"slug": OWNED["schedule"]},
    "/alert-endpoints/": lambda: {"slug": OWNED["endpoint"]},
}


def _values_of_kind(path: str) -> dict[str, Any]:
    return next((values() for word, values in _OF_KIND.items() if word in path), {})


# What is deleted was made for it: path of the list, body, and field of the answer by which it is
# named, for each parameter that names it.
_FRESH: dict[str, tuple[str, Callable[[], Any], str]] = {
    "/domain-lists/{slug}": ("/domain-lists", lambda: {"name": "n", "domains": DOMAINS}, "id"),
    "/audit-policies/{slug}": ("/audit-policies", lambda: {"name": "n", "document": POLICY}, "id"),
    "/audit-suppressions/{number}": (
        "/audit-suppressions",
        lambda: {
            **{"rule": "no-ipv6", "subject": "example.com", "reason": "static pages"},
            **{"owner": "platform team", "expires": "2099-01-01"},
        },
        "id",
    ),
    "/schedules/{slug}": (
        "/schedules",
        lambda: {
            **{"name": "n", "kind": "survey", "cron": "@daily"},
            "request": {"domains": DOMAINS},
        },
        "id",
    ),
    "/alert-endpoints/{slug}": (
        "/alert-endpoints",
        lambda: {"name": "n", "target": "https://alerts.example.com/hook"},
        "id",
    ),
    "/beacons/{key}": (
        "/beacons",
        lambda: {
            "name": "n",
            "targets": {"aws/eu-central-1": "https://probe.example.com/empty"},
            "origins": ["https://www.example.com"],
        },
        "id",
    ),
    "/surveys/{slug}": ("/surveys", lambda: {"domains": DOMAINS}, "id"),
    "/surveys/{slug}/cancel": ("/surveys", lambda: {"domains": DOMAINS}, "id"),
    "/audits/{slug}": ("/audits", lambda: {"survey": EXISTING["surveys"][0]}, "id"),
    "/measurements/{slug}": (
        "/measurements",
        lambda: {"targets": ["one.example.com"], "vantages": EXISTING["vantage_points"][:1]},
        "campaign",
    ),
    "/simulations/{token}": (
        "/simulations",
        lambda: {"experiment": EXISTING["experiment"]},
        "id",
    ),
    "/recommendations/{token}": ("/recommendations", lambda: {"samples": SAMPLES}, "id"),
    "/screening/pools/{key}": ("/screening/pools", lambda: {"name": "n"}, "key"),
    "/screening/pools/{key}/tokens/{number}": (
        f"/screening/pools/{OWNED['pool']}/tokens",
        lambda: {"name": "n"},
        "id",
    ),
    "/screening/pools/{key}/logs/{log}": (
        f"/screening/pools/{OWNED['pool']}/logs",
        lambda: f"{LOG}1,{next(numbers)},vm-2\n",
        "id",
    ),
    **{
        f"/{kind}/{{slug}}/links/{{number}}": (f"/{kind}/{slug}/links", lambda: {"days": 7}, "id")
        for kind, slug in (
            ("surveys", OWNED["surveys"][0]),
            ("measurements", OWNED["measurements"][0]),
            ("audits", OWNED["audit"]),
        )
    },
}


def _fresh_name(method: str, path: str) -> dict[str, Any]:
    """The name of an object that was made this moment, for what would end one that others need."""
    ending = path.removeprefix("/api/v1")
    if not TOKEN or ending not in _FRESH or not (method == "DELETE" or ending.endswith("/cancel")):
        return {}
    address, body, field = _FRESH[ending]
    made = _post(address, body())
    parameter = re.findall(r"\{(\w+)\}", ending)[-1]
    fixed = {"slug": address.split("/")[2]} if "/links/" in ending else {}
    # At a limit of objects there is none, and those that others need stay.
    return {**fixed, parameter: 0 if made is None else made.get(field, 0)}


def _post(address: str, body: Any) -> Any:
    is_text = isinstance(body, str)
    data = body.encode() if is_text else json.dumps(body).encode()
    kind = "application/octet-stream" if is_text else "application/json"
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
    request = urllib.request.Request(f"{SITE}/api/v1{address}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError:
        return None


REQUESTS: dict[str, Callable[[], dict[str, Any]]] = {
    "survey": lambda: {"domains": DOMAINS},
    "audit": lambda: {"domain_list": OWNED["domain_list"], "policy": "resilience"},
    "campaign": lambda: {
        "preset": "quick",
        "targets": ["one.example.com"],
        "vantages": EXISTING["vantage_points"][:1],
    },
}


def _body_values(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Usable values for the fields of a body that is as its schema states."""
    known: dict[str, Any] = {
        "domains": random.choice((DOMAINS, "\n".join(DOMAINS))),
        "domain_list": OWNED["domain_list"],
        "survey": EXISTING["surveys"][0],
        "policy": random.choice(("default", OWNED["policy"])),
        "campaign": OWNED["measurements"][0],
        "previous": "none",
        "document": random.choice((POLICY, json.dumps(POLICY))),
        "policy_document": POLICY,
        "vantages": EXISTING["vantage_points"][:1],
        "targets": random.choice((["one.example.com"], "host,port\none.example.com,443\n")),
        "samples": SAMPLES,
        "audience": {"DE": 2.0, "NO": 1.0},
        "source": "auto",
        "parameters": {},
        "baseline": None,
        "time_zone": random.choice(("UTC", "Europe/Oslo")),
        "cron": "30 2 * * *",
        "target": "https://alerts.example.com/hook",
        "low": 1.0,
        "high": 20.0,
        "allow": [],
        "deny": ["192.0.2.0/24"],
        "activities": [],
        "preset": "quick",
        "schedule": OWNED["schedule"],
        "names": None,
    }
    if "/recommendations" in path:
        known |= {"k": "1..2", "missing": "exclude"}
        names = ("include", "exclude", "current", "provider", "country", "continent", "presence")
        known |= {name: [] for name in names}
        known |= dict.fromkeys(("weights", "regions", "clients", "isps", "prices"))
        known |= dict.fromkeys(("populations", "beside", "domains", "penalty", "price_ceiling"))
        known |= dict.fromkeys(("after_loss_ms", "after_loss_share", "percentile"))
        known |= dict.fromkeys(("budget", "joint_budget", "joint_cost", "min_zones", "min_isps"))
        known |= {"survive_loss": False}
    if "/measurements" in path:
        known |= {"schedule": None, "rounds": 2, "round_s": 900.0}
    if path.endswith("/beacons"):
        known["targets"] = {"aws/eu-central-1": "https://probe.example.com/empty"}
        known["origins"] = ["https://www.example.com"]
    if path.endswith("/schedules"):
        known["request"] = REQUESTS.get(str(body.get("kind")), REQUESTS["survey"])()
    if path.endswith("/audit-suppressions"):
        known["policy"] = OWNED["policy"]
    return known


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Name things that exist in most cases, unless the name is what a case has wrong."""
    share = SHARE_STATEFUL if case.meta and case.meta.phase.name.name == "STATEFUL" else SHARE
    path = case.operation.path
    if _is_positive(case, ParameterLocation.PATH) and random.random() < share:
        known = _path_values(path) | _fresh_name(case.method, path)
        case.path_parameters = {k: known.get(k, v) for k, v in case.path_parameters.items()}
    if _is_positive(case, ParameterLocation.QUERY) and random.random() < share:
        known = _query_values(path)
        case.query = {name: known.get(name, value) for name, value in case.query.items()}
    if _is_positive(case, ParameterLocation.BODY) and random.random() < share:
        _set_body(case, path)
    if "Idempotency-Key" in (case.headers or {}) and random.random() < share:
        case.headers["Idempotency-Key"] = f"key-{next(numbers)}-{random.getrandbits(64):x}"


def _is_positive(case: Any, location: ParameterLocation) -> bool:
    component = case.meta.components.get(location) if case.meta else None
    return component is None or component.mode.is_positive


def _query_values(path: str) -> dict[str, Any]:
    known: dict[str, Any] = {"vantage": "v-one", "region": random.choice(REGIONS)}
    if "outages" in path:
        known = {"kind": "region", "provider": "aws", "target": "us-east-1"}
    if "/moves" in path:
        known = {"dimension": "regions", "before": "", "after": ""}
    if "/pools/" in path:
        known["instance"] = OWNED["instance"]
        known["report"] = OWNED["report_id"]
    return known | {"cursor": "", "snapshot": "", "domain_list": OWNED["domain_list"]}


def _set_body(case: Any, path: str) -> None:
    if path.endswith("/client-weights"):
        case.body = "country,weight\nDE,2\nNO,1\n"
    elif path.endswith(("/screening/verdict", "/logs")):
        case.body = f"{LOG}1,{next(numbers)},vm-2\n"
    elif isinstance(case.body, dict):
        known = _body_values(path, case.body)
        changed = {k: known[k] for k, v in case.body.items() if k in known and v not in (None, "")}
        case.body = case.body | changed


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Drop refusals of valid requests by a rule in ``semantic_rules.toml``, and nothing else."""
    if type(failure).__name__ != "RejectedPositiveData" or response.status_code != 422:
        return True
    problem = response.json()
    named = f"{problem['type'].rpartition('/')[2]} {problem.get('field', '')}".strip()
    operation = context.operation.definition.raw["operationId"]
    for rule in RULES:
        is_named = operation in rule["operations"] and re.fullmatch(rule["refusal"], named)
        if is_named and re.search(rule["detail"], problem["detail"]):
            refused[rule["name"]] += 1
            return False
    return True


def _write_refused() -> None:
    Path(os.environ["REFUSED"]).write_text(json.dumps(refused))


atexit.register(_write_refused)
