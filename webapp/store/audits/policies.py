"""Saved policies, and suppressions that apply beside those of a policy's document."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from audits.policy.loading import load_preset, parse_policy, preset_document, preset_names
from audits.policy.model import Policy, Suppression
from core.errors import BadInput, Conflict
from webapp.store.audits import documents
from webapp.store.models import AuditSuppression, SavedPolicy
from webapp.store.requests.texts import is_printable, slug_of

MAX_SUPPRESSIONS = 10_000
# As long as their columns are.
_MAX_CHARACTERS = {"subject": 255, "reason": 1_000, "accepted_by": 200}
_FIELDS = ("rule", "subject", "reason", "owner", "expires", "fingerprint")


@dataclass(frozen=True, slots=True)
class PolicyText:
    """A policy as it is copied into an audit: its text, its parsed form, and the saved row."""

    text: str
    policy: Policy
    saved: SavedPolicy | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """A policy that is delivered with the product."""

    name: str
    text: str
    policy: Policy


@lru_cache(maxsize=1)
def presets() -> tuple[Preset, ...]:
    """The delivered policies by name."""
    return tuple(Preset(name, preset_document(name), load_preset(name)) for name in preset_names())


def create_policy(owner: Any, name: str, data: bytes) -> SavedPolicy:
    """Save a policy of TOML or JSON; raises ``BadInput`` naming field and line.

    An empty name is taken from the document.
    """
    policy = parse_policy(data)
    name = documents.check_name(name or policy.title or policy.name)
    documents.check_count(SavedPolicy, owner)
    row = SavedPolicy(owner=owner, slug=slug_of(name, "policy"))
    _store(row, name, data, policy)
    return row


def change_policy(row: SavedPolicy, name: str | None = None, data: bytes | None = None) -> None:
    """Rename a policy, or replace its document; raises ``BadInput``."""
    data = row.document.encode() if data is None else data
    _store(row, row.name if name is None else documents.check_name(name), data, parse_policy(data))


def _store(row: SavedPolicy, name: str, data: bytes, policy: Policy) -> None:
    values = {"name": name, "document": data.decode(), "rules": list(policy.rules)}
    documents.store(row, values, documents.digest_of(data))


def find_policy(name: str, user: Any) -> PolicyText:
    """A preset by name, or a saved policy of the account by slug; raises ``BadInput``."""
    preset = next((one for one in presets() if one.name == name), None)
    if preset is not None:
        return PolicyText(preset.text, preset.policy)
    row = documents.find(SavedPolicy, name, user)
    if row is None:
        names = ", ".join(one.name for one in presets())
        raise BadInput(f"you have no policy {name!r}; presets are {names}", field="policy")
    return PolicyText(row.document, parse_policy(row.document.encode()), row)


def read_policy(data: bytes) -> PolicyText:
    """A policy that is sent with an audit; raises ``BadInput`` naming field and line."""
    policy = parse_policy(data)
    return PolicyText(data.decode(), policy)


def suppressions_for(user: Any, policy: SavedPolicy | None) -> list[dict[str, Any]]:
    """The saved suppressions that apply to an audit, as data that a row can hold."""
    if user is None or not user.is_authenticated:
        return []
    rows = AuditSuppression.objects.filter(owner=user.pk)
    return [as_suppression(row) for row in rows if row.policy_id in (None, policy and policy.pk)]


def as_suppression(row: AuditSuppression) -> dict[str, Any]:
    """A saved suppression in the form that policies have."""
    return {
        "rule": row.rule,
        "subject": row.subject,
        "reason": row.reason,
        "owner": row.accepted_by,
        "expires": row.expires.isoformat(),
        "fingerprint": row.fingerprint,
    }


def with_suppressions(
    policy: Policy, saved: Iterable[Mapping[str, Any]], domains: Collection[str]
) -> Policy:
    """The policy with those saved suppressions that are about its rules and these domains."""
    found = [Suppression.model_validate(row) for row in saved if row["rule"] in policy.rules]
    more = [s for s in found if s.subject in domains or (s.is_glob and s.matches_any(domains))]
    return policy.model_copy(update={"suppressions": (*policy.suppressions, *more)})


def create_suppression(
    owner: Any, given: Mapping[str, Any], policy: SavedPolicy | None = None
) -> AuditSuppression:
    """Save a suppression with the fields that policies have; raises ``BadInput``."""
    if AuditSuppression.objects.filter(owner=owner).count() >= MAX_SUPPRESSIONS:
        raise Conflict(f"an account has at most {MAX_SUPPRESSIONS:,} suppressions")
    values = _checked(given)
    return AuditSuppression.objects.create(owner=owner, policy=policy, **values)


def change_suppression(row: AuditSuppression, given: Mapping[str, Any]) -> None:
    """Change some fields of a suppression; raises ``BadInput``."""
    for name, value in _checked({**as_suppression(row), **given}).items():
        setattr(row, name, value)
    row.save()


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = Suppression.model_validate({k: v for k, v in given.items() if k in _FIELDS})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BadInput(first["msg"].removeprefix("Value error, "), field=field) from error
    values = found.model_dump()
    values["accepted_by"] = values.pop("owner")
    for name in _MAX_CHARACTERS:
        _check_text(name, values[name])
    return values


def _check_text(name: str, text: str) -> None:
    most = _MAX_CHARACTERS[name]
    if len(text) > most or not is_printable(text):
        field = "owner" if name == "accepted_by" else name
        raise BadInput(f"at most {most:,} printable characters", field=field)


def suppressions_of(user: Any) -> list[AuditSuppression]:
    """The saved suppressions of an account, newest first."""
    if user is None or not user.is_authenticated:
        return []
    return list(AuditSuppression.objects.filter(owner=user.pk).select_related("policy"))
