"""Examples of the OpenAPI document, composed of one example for each name of a field.

A field has one name everywhere, so its example is written once; ``Model.field`` is of one model.
"""

from typing import Any

_AT = "2026-03-01T12:00:00Z"
_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_CELLS = {"columns": ["provider", "region", "domains"], "rows": [["aws", "us-east-1", 25722]]}
_CAPTURED = {
    **_CELLS,
    "n": 4,
    "title": "Traffic by cloud",
    "headline": "100.0 % of the flows go to Amazon",
    "source": "IMC'13 Table 3",
    "method": "",
}
_FINDING_COUNTS = {"critical": 0, "high": 1, "medium": 0, "low": 0, "info": 0}

FIELDS: dict[str, Any] = {
    "activities": ["latency"],
    "Preset.activities": [{"name": "latency", "probe": "tcp-ping", "options": {"count": 5}}],
    "address": "192.0.2.7",
    "addresses": 1,
    "after": "autumn",
    "Flow.after": "aws us-east-1",
    "MemberChange.after": 3,
    "agent_version": "1.0",
    "answers": [{"name": "www.example.com", "type": "A", "ttl": 60, "data": "192.0.2.7"}],
    "as_of": "2026-02-28",
    "asn": 64500,
    "at": _AT,
    "audit": "nightly-5e6f7a8b9c",
    "authority": "-----BEGIN CERTIFICATE-----",
    "before": "spring",
    "Flow.before": "aws us-west-1",
    "MemberChange.before": 2,
    "by_severity": _FINDING_COUNTS,
    "campaign": "spring-latency",
    "SurveyReport.campaign": "spring",
    "category": "finding",
    "AuditRule.category": "concentration",
    "cause": "steal",
    "city": "Frankfurt",
    "class": "aws only",
    "clock_doubt_ms": 0.4,
    "clock_offset_ms": 1.5,
    "cloud": 29,
    "VantagePoint.cloud": "aws/eu-central-1",
    "InviteIn.cloud": "aws/eu-central-1",
    "columns": _CELLS["columns"],
    "command": "python -m tasks.vantage.joining https://nephoscope.example TOKEN",
    "confidence": 0.97,
    "continent": "EU",
    "coordinates": [-77.5, 39.0],
    "count": 1,
    "country": "DE",
    "coverage": 0.98,
    "currency": "USD",
    "cursor": "",
    "data": "192.0.2.7",
    "description": "All names of the domain are in one region.",
    "detail": "there is no survey 'sprang'",
    "discriminator": "us-east-1",
    "document": '[policy]\nname = "ours"\n',
    "domain": "example.com",
    "domain_list": "suppliers-1a2b3c4d5e",
    "domains": 13,
    "domains_per_survey": 100000,
    "SurveyReport.domains": {"asked": 13, "rejected": 0, "duplicates": 0},
    "error": "",
    "estimated_queries": 7332,
    "estimated_s": 11.7,
    "events": "/api/v1/surveys/spring/events",
    "evidence": "A 192.0.2.7",
    "AuditFinding.evidence": [{"kind": "table", "url": "/s/spring/t/regions/"}],
    "ListedFinding.evidence": [{"kind": "table", "url": "/s/spring/t/regions/"}],
    "example": "www.example.com",
    "exit_code": 1,
    "expires": "2027-06-30",
    "fail_on": "high",
    "failed": {"TIMEOUT": 2},
    "CampaignProgress.failed": 2,
    "VantageSlots.failed": 2,
    "RoundSlots.failed": 2,
    "files": ["samples"],
    "fingerprint": _SHA256,
    "found": 42,
    "headline": "73.8 % of Amazon-hosted subdomains are in us-east-1",
    "headlines": {"causes": "1,084 of 1,207 stalls are of the cause steal"},
    "health": "alive",
    "histogram": [[91.1, 92.2, 870]],
    "host": {"name": "ip-10-0-0-7", "cpu_model": "Example CPU at 2.5 GHz", "vcpus": 2},
    "Target.host": "ec2.us-east-1.amazonaws.com",
    "VantageIdentity.host": "nephoscope.example",
    "hours": 24.0,
    "id": "spring",
    "Audit.id": "nightly-5e6f7a8b9c",
    "AuditFinding.id": "single-region:example.com",
    "ListedFinding.id": "single-region:example.com",
    "AuditRule.id": "single-region",
    "AuditPolicy.id": "resilience",
    "AuditPolicyWithDocument.id": "resilience",
    "DomainList.id": "suppliers-1a2b3c4d5e",
    "Table.id": "regions",
    "TableSummary.id": "regions",
    "ChangedTable.id": "regions",
    "CaptureTable.id": "traffic-clouds",
    "CampaignTable.id": "latency-grid",
    "CampaignTableSummary.id": "latency-regions",
    "MeasuredRows.id": "samples",
    "MeasuredCampaign.id": "spring-latency",
    "MeasuredCampaignWithTables.id": "spring-latency",
    "Recommendation.id": "wVamz1bk0dm2MA-ISCG8TkMS",
    "ListedRecommendation.id": "wVamz1bk0dm2MA-ISCG8TkMS",
    "PoolInstance.name": "ip-10-0-0-7",
    "instance": 1,
    "Front.instance": "192.0.2.7",
    "key": "d54d2a051ecd",
    "keys": [["region", "aws", "us-east-1"]],
    "kind": "json",
    "NamePlacement.kind": "cloud",
    "NameServer.kind": "other",
    "LogSummary.kind": "conn",
    "PoolLog.kind": "hdr",
    "AuditSource.kind": "domains",
    "ProblemType.kind": "not-found",
    "kind_of_file": "json",
    "label": "",
    "Front.label": "vm",
    "DomainLabel.label": "vm",
    "labels": ["vm"],
    "lat": 50.1,
    "limits": {"probes_per_s": 200.0},
    "CampaignIn.limits": {"per_target_per_s": 1.0},
    "line": 2,
    "link": "https://nephoscope.example/shared/TOKEN/",
    "links": {"self": "/api/v1/audits/nightly-5e6f7a8b9c"},
    "lon": 8.7,
    "meaning": "There is nothing at this address, or nothing that you may see.",
    "member": "aws us-east-1",
    "message": "all 7 names are in us-east-1",
    "method": "One count per name and region.",
    "name": "Spring",
    "Name.name": "www.example.com",
    "ListedName.name": "www.example.com",
    "Lookup.name": "www.example.com",
    "Answer.name": "www.example.com",
    "Front.name": "www.example.com",
    "NamePlacement.name": "www.example.com",
    "VantagePoint.name": "vp-frankfurt",
    "NewVantagePoint.name": "vp-frankfurt",
    "VantageIdentity.name": "vp-frankfurt",
    "InviteIn.name": "vp-frankfurt",
    "Presence.name": "vp-frankfurt",
    "Account.name": "anna",
    "names": ["vp-frankfurt"],
    "DomainRegion.names": 2,
    "DomainLabel.names": 1,
    "Flow.names": 1,
    "network": "globalping",
    "next": "spring",
    "Domains.next": "2",
    "number": 4,
    "options": {"k": "1..4"},
    "origin": "https://ip-ranges.amazonaws.com/ip-ranges.json",
    "outcome": "finding",
    "owner": "anna",
    "package": "/api/v1/surveys/spring/package",
    "page": "/s/spring/",
    "Domains.page": 1,
    "Names.page": 1,
    "PoolShare.page": "https://nephoscope.example/screening/shared/SECRET/",
    "password": "SECRET",
    "path": "conn.log",
    "place": "N. Virginia",
    "policy": "resilience",
    "Audit.policy": {"name": "resilience", "sha256": _SHA256, "saved": None},
    "AuditPlan.policy": {"name": "resilience", "sha256": _SHA256},
    "AuditReport.policy": {"name": "resilience", "sha256": _SHA256},
    "population": {"domains_both": 2, "names_both": 4},
    "predicted": {"probes": 960, "bytes": 1000000},
    "prefix": "192.0.2.0/24",
    "preset": "latency",
    "AuditPolicy.preset": True,
    "AuditPolicyWithDocument.preset": True,
    "pressure_us": {"cpu": {"some": 1200000, "full": 0}},
    "previous": "nightly-0a1b2c3d4e",
    "probe": "tcp-ping",
    "protocol": "udp",
    "provider": "aws",
    "providers": ["aws"],
    "quality": {"flows": 4, "clients": 2},
    "rank": 13,
    "reason": "accepted until the migration in June",
    "RejectedLine.reason": "has no dot; write a whole domain such as example.com",
    "Choice.reason": "",
    "reasons": {"failed": {"TIMEOUT": 2}, "missed": {}},
    "LogSummary.reasons": {"cut off": 1},
    "region": "us-east-1",
    "regions": ["us-east-1", "eu-west-1"],
    "remedy": "Check the address; send the token of the account that owns it.",
    "report": "/api/v1/surveys/spring/report.json",
    "report_id": "d1d2e1d877756dfd9d2d1eea633b68f9",
    "resolver": "192.0.2.53:53",
    "rows": _CELLS["rows"],
    "rtt_ms": 0.84,
    "rule": "single-region",
    "Front.rule": "aws-vm",
    "rules": ["single-region", "residency"],
    "samples": "round,client,region,value\n0,c1,us-east-1,20\n0,c1,eu-west-1,90\n",
    "schedule": {"rounds": 96, "round_s": 900.0},
    "secret": "7be7a94c2194d359f30c7c7c95db87d1e87ac337",
    "section": "causes",
    "self": "/api/v1/surveys/spring",
    "series": [{"verdict": "good", "p999_ms": 0.2}],
    "server": "ns1.example.com",
    "Schedule.kind": "audit",
    "ScheduleEvent.kind": "region-changed",
    "AlertDelivery.kind": "region-changed",
    "ScheduleIn.kind": "audit",
    "cron": "0 6 * * 1",
    "time_zone": "Europe/Berlin",
    "request": {"domain_list": "suppliers-1a2b3c4d5e", "policy": "resilience"},
    "service": "EC2",
    "services": ["EC2"],
    "sha256": _SHA256,
    "share": None,
    "slug": "spring",
    "source": "IMC'13 Table 10",
    "Audit.source": {"kind": "survey", "survey": "spring", "domain_list": None},
    "AuditReport.source": {"survey": "spring"},
    "Recommendation.source": {},
    "ListedRecommendation.source": {},
    "VantagePoint.source": "own",
    "NewVantagePoint.source": "own",
    "state": "joined",
    "Campaign.state": "running",
    "SurveyReport.state": "finished",
    "Comparing.state": "running",
    "PoolToken.state": "active",
    "stages": {"crawl": {"seconds": 7.7}},
    "status": "finished",
    "NameServer.status": "NOERROR",
    "Lookup.status": "NOERROR",
    "NotIndexed.status": "running",
    "statuses": [404],
    "Audit.step": "",
    "Audit.summary": None,
    "subject": "example.com",
    "suggestion": "Run a second copy in another region.",
    "summary": {},
    "sums": {"regions": {"names": 3, "changed": 1}},
    "suppressed": "",
    "AuditSummary.suppressed": 0,
    "suppression_problems": [],
    "survey": "spring",
    "table": "regions.json",
    "tables": "/api/v1/surveys/spring/tables",
    "Comparison.tables": ["regions"],
    "Capture.tables": {"traffic-clouds": _CAPTURED},
    "SurveyReport.tables": {"regions": {**_CELLS, "n": 40333, "headline": "Most are in Virginia"}},
    "target": "us-east-1",
    "AlertEndpointIn.target": "https://hooks.example.com/alerts",
    "AlertEndpoint.target": "https://hooks.example.com/alerts",
    "NewAlertEndpoint.target": "https://hooks.example.com/alerts",
    "targets": 2,
    "CampaignIn.targets": ["ec2.us-east-1.amazonaws.com"],
    "technique": "wordlist",
    "text": "bad_",
    "title": "Use of regions",
    "token": "wVamz1bk0dm2MA-ISCG8TkMS",
    "Account.token": {"name": "nightly export", "scope": "read", "expires_at": None},
    "transfer": "REFUSED",
    "type": "A",
    "Problem.type": "/api/v1/problems/not-found",
    "ProblemType.type": "/api/v1/problems/not-found",
    "Problem.title": "There is no such thing here",
    "Problem.status": 404,
    "user": "vantage-vp-frankfurt",
    "vantage": "vp-frankfurt",
    "vantages": 2,
    "CampaignIn.vantages": ["vp-frankfurt"],
    "SurveyReport.vantages": {},
    "variant": "",
    "verdict": "bad",
    "verdicts": {"good": 11, "network-test": 2, "bad": 7, "not-enough": 0},
    "version": "1",
    "waits": "",
    "wanted": 5,
    "why": "surely good, 2.0 stalls per 100 s",
    "world": "",
    "zones": [],
}
# Bodies whose example is not composed of all their fields, most of which are optional.
BODIES: dict[str, Any] = {
    "AuditIn": {"domains": ["example.com"], "policy": "resilience", "fail_on": "high"},
    "CampaignIn": {
        "name": "Spring latency",
        "preset": "latency",
        "targets": ["ec2.us-east-1.amazonaws.com"],
        "vantages": ["vp-frankfurt"],
    },
    "DomainListChange": {"name": "Suppliers"},
    "DomainListIn": {"name": "Suppliers", "domains": ["example.com", "example.org"]},
    "JoinIn": {"token": "TOKEN", "version": "1"},
    "NewLink": {"days": 30},
    "OptionsIn": {"k": "1..4"},
    "PolicyChange": {"name": "Ours"},
    "RecommendationIn": {"samples": FIELDS["samples"], "k": "1..2"},
    "SettingsIn": {"name": "Frontends", "wanted": 5, "price": 0.096, "currency": "USD"},
    "SuppressionChange": {"expires": "2027-06-30"},
    "SurveyIn": {"domains": ["example.com", "example.org"], "name": "Spring"},
    "AlertEndpointChange": {"quiet_after": 3},
    "ScheduleChange": {"is_active": False},
    "TokenIn": {"name": "frontends", "days": 90},
    "WantedIn": {"network": "globalping", "country": "DE", "count": 20},
}
_DEEPEST = 8
_TEXTS = {
    "date-time": _AT,
    "date": "2026-03-01",
    "binary": "",
    "uri": "https://nephoscope.example/",
}
_NUMBERS = {"integer": 4, "number": 1.5}


class Composer:
    """Composes examples of the schemas of a document."""

    def __init__(self, components: dict[str, Any]) -> None:
        self._components = components

    def compose(self, schema: dict[str, Any], field: str = "", model: str = "") -> Any:
        """Return an example of a schema, of which ``field`` of ``model`` may be the name."""
        return self._compose(schema, field, model, 0)

    def _compose(self, schema: dict[str, Any], field: str, model: str, depth: int) -> Any:
        if "$ref" in schema:
            return self._referred(schema["$ref"].rpartition("/")[2], field, model, depth)
        for name in (f"{model}.{field}", field):
            if name in FIELDS and _fits(FIELDS[name], schema):
                return FIELDS[name]
        return self._by_kind(schema, field, model, depth)

    def _referred(self, name: str, field: str, model: str, depth: int) -> Any:
        if f"{model}.{field}" in FIELDS:
            return FIELDS[f"{model}.{field}"]
        if name in BODIES:
            return BODIES[name]
        return (
            {} if depth > _DEEPEST else self._by_kind(self._components[name], "", name, depth + 1)
        )

    def _by_kind(self, schema: dict[str, Any], field: str, model: str, depth: int) -> Any:
        if "const" in schema or "enum" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return self._compose(choices[0], field, model, depth)
        kind = schema.get("type")
        if kind == "array":
            items = schema.get("prefixItems") or [schema.get("items", {})]
            return [self._compose(item, "", "", depth) for item in items]
        if kind == "object" or "properties" in schema:
            return self._object(schema, model, depth)
        if kind == "string":
            return schema.get("default") or _TEXTS.get(schema.get("format", ""), "text")
        if kind in _NUMBERS:
            return schema.get("default", schema.get("minimum", _NUMBERS[kind]))
        return False if kind == "boolean" else None

    def _object(self, schema: dict[str, Any], model: str, depth: int) -> Any:
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and more and not schema.get("properties"):
            return {"regions": self._compose(more, "", "", depth)}
        return {
            name: self._compose(kind, name, model, depth)
            for name, kind in schema.get("properties", {}).items()
        }


_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value is of the schema's kind, so that one name may have several kinds."""
    if "anyOf" in schema:
        return any(_fits(value, choice) for choice in schema["anyOf"])
    if "$ref" in schema:
        return isinstance(value, dict)
    if "enum" in schema or "const" in schema:
        return value in schema.get("enum", [schema.get("const")])
    kind = _TYPES.get(schema.get("type", ""), object)
    if isinstance(value, bool) and kind is not bool:
        return kind is object
    items = schema.get("items", {})
    is_listed = isinstance(value, list) and items
    return isinstance(value, kind) and (not is_listed or all(_fits(v, items) for v in value))
