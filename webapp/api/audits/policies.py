"""REST API v1: audit rules, presets, saved policies and suppressions of an account."""

from operator import attrgetter
from typing import Annotated, Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Query, Status

from tasks.audits import command
from webapp.api.audits.documents import policy_json, preset_json, suppression_json
from webapp.api.audits.lists import require_account
from webapp.api.framework.documents import tagged
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, DateText, Name, Text, document_bytes, schema
from webapp.store.audits import documents, policies
from webapp.store.models import AuditSuppression, SavedPolicy

router = Router(tags=["audit policies"])
_RULE_IDS = [rule["id"] for rule in command.describe_rules()]
_RULES = {"type": "object", "minProperties": 1, "propertyNames": {"enum": _RULE_IDS}}
Document = (
    Annotated[str, Field(min_length=1, max_length=1_000_000)]
    | Annotated[
        dict[str, Any], schema(required=["version", "name", "rules"], properties={"rules": _RULES})
    ]
)
Fingerprint = Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]


RuleId = Annotated[str, Field(max_length=80), schema(enum=_RULE_IDS)]


class PolicyIn(Body):
    """A policy: the text of a TOML or JSON document, or the JSON document itself.

    Without a name it gets the name in the document.
    """

    name: Annotated[Text, Field(max_length=200)] = ""
    document: Document


class PolicyChange(Body):
    """What changes of a policy; fields that are left out stay."""

    name: Name | None = None
    document: Document | None = None


class SuppressionIn(Body):
    """A finding that is accepted until a day.

    ``subject`` is a domain, or a glob that matches whole domains; ``fingerprint`` limits it to one
    finding; ``policy`` to audits under one saved policy.
    """

    rule: RuleId
    subject: Annotated[Text, Field(min_length=1, max_length=255)]
    reason: Annotated[Text, Field(min_length=3, max_length=1_000)]
    owner: Annotated[Text, Field(min_length=1, max_length=200)]
    expires: DateText
    fingerprint: Fingerprint = ""
    policy: Annotated[str, Field(max_length=120)] = ""


class SuppressionChange(Body):
    """What changes of a suppression; fields that are left out stay."""

    subject: Annotated[Text, Field(min_length=1, max_length=255)] | None = None
    reason: Annotated[Text, Field(min_length=3, max_length=1_000)] | None = None
    owner: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    expires: DateText | None = None


@router.get(
    "/audit-rules",
    response={200: "Page[audits.AuditRule]"},
    operation_id="list_audit_rules",
)
def list_rules(request: HttpRequest, page: Query[Page]) -> Any:
    """All rules with their default severity, description and parameters."""
    return paginate(command.describe_rules(), page, lambda rule: rule["id"], dict)


@router.get(
    "/audit-policies/schema",
    response={200: "common.JsonSchema"},
    operation_id="get_audit_policy_schema",
)
def get_schema(request: HttpRequest) -> Any:
    """The JSON Schema of a policy document."""
    return command.json_schema()


@router.get(
    "/audit-policies",
    response={200: "Page[audits.AuditPolicy]"},
    operation_id="list_audit_policies",
)
def list_policies(request: HttpRequest, page: Query[Page]) -> Any:
    """Presets, then own policies by name."""
    presets = [preset_json(preset) for preset in policies.presets()]
    own = [policy_json(row) for row in documents.owned_by(SavedPolicy, request.user)]
    return paginate([*presets, *own], page, lambda one: one["id"], dict)


@router.post(
    "/audit-policies",
    response={201: "audits.AuditPolicyWithDocument"},
    operation_id="create_audit_policy",
    openapi_extra=ACCOUNT,
)
def create_policy(request: HttpRequest, given: PolicyIn, response: HttpResponse) -> Any:
    """Save a policy; an error names the field and the line."""
    owner = require_account(request)
    row = policies.create_policy(owner, given.name, document_bytes(given.document))
    document = policy_json(row)
    response["Location"] = document["links"]["self"]
    return Status(201, {**document, "document": row.document})


@router.get(
    "/audit-policies/{slug}",
    response={200: "audits.AuditPolicyWithDocument", 304: None},
    operation_id="get_audit_policy",
)
def get_policy(request: HttpRequest, slug: str) -> Any:
    """A preset or an own policy with its document; ``ETag`` changes when it does."""
    preset = next((one for one in policies.presets() if one.name == slug), None)
    if preset is not None:
        return tagged(request, {**preset_json(preset), "document": preset.text})
    row = _own(request, slug)
    return tagged(request, {**policy_json(row), "document": row.document})


@router.patch(
    "/audit-policies/{slug}",
    response={200: "audits.AuditPolicyWithDocument"},
    operation_id="change_audit_policy",
    openapi_extra=ACCOUNT,
)
def change_policy(request: HttpRequest, slug: str, change: PolicyChange) -> Any:
    """Rename a policy or replace its document, which raises its version."""
    row = _own(request, slug)
    data = None if change.document is None else document_bytes(change.document)
    policies.change_policy(row, change.name, data)
    return {**policy_json(row), "document": row.document}


@router.delete(
    "/audit-policies/{slug}",
    response={204: None},
    operation_id="delete_audit_policy",
    openapi_extra=ACCOUNT,
)
def delete_policy(request: HttpRequest, slug: str) -> Any:
    """Delete a policy with the suppressions that are limited to it; audits under it stay."""
    _own(request, slug).delete()
    return Status(204, None)


@router.get(
    "/audit-suppressions",
    response={200: "Page[audits.Suppression]"},
)
def list_suppressions(request: HttpRequest, page: Query[Page]) -> Any:
    """Own suppressions, newest first; empty without an account."""
    rows = policies.suppressions_of(request.user)
    return paginate(rows, page, attrgetter("pk"), suppression_json)


@router.post(
    "/audit-suppressions",
    response={201: "audits.Suppression"},
    openapi_extra=ACCOUNT,
)
def create_suppression(request: HttpRequest, given: SuppressionIn, response: HttpResponse) -> Any:
    """Accept a finding in audits that start from now on."""
    owner = require_account(request)
    policy = _own(request, given.policy) if given.policy else None
    row = policies.create_suppression(owner, given.dict(exclude={"policy"}), policy)
    return Status(201, suppression_json(row))


@router.patch(
    "/audit-suppressions/{int:number}",
    response={200: "audits.Suppression"},
    openapi_extra=ACCOUNT,
)
def change_suppression(request: HttpRequest, number: int, change: SuppressionChange) -> Any:
    """Change subject, reason, owner or last day."""
    row = _own_suppression(request, number)
    policies.change_suppression(row, change.dict(exclude_none=True))
    return suppression_json(row)


@router.delete(
    "/audit-suppressions/{int:number}",
    response={204: None},
    openapi_extra=ACCOUNT,
)
def delete_suppression(request: HttpRequest, number: int) -> Any:
    """Delete a suppression; audits that ended stay as they are."""
    _own_suppression(request, number).delete()
    return Status(204, None)


def _own(request: HttpRequest, slug: str) -> SavedPolicy:
    row = documents.find(SavedPolicy, slug, request.user)
    if row is None:
        raise Http404("you have no such policy")
    return row


def _own_suppression(request: HttpRequest, number: int) -> AuditSuppression:
    row = next((row for row in policies.suppressions_of(request.user) if row.pk == number), None)
    if row is None:
        raise Http404("you have no such suppression")
    return row
