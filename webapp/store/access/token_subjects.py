"""Subjects that API tokens are limited to, and the operations of each by their addresses."""

from core.errors import BadInput
from webapp.store.models import ApiToken

# Names of subjects with the first part of the addresses of their operations.
SUBJECTS = {
    "surveys": ("surveys", "plan", "domains", "compare", "captures", "range-tables"),
    "campaigns": ("measurements", "wide-area", "wide-area-comparison"),
    "audits": ("audits", "audit-rules", "audit-policies", "audit-suppressions", "domain-lists"),
    "recommendations": ("recommendations", "beacons", "client-weights", "client-places"),
    "schedules": ("schedules", "alert-endpoints"),
    "screening": ("screening",),
    "simulations": ("simulations", "experiments"),
    "vantage-points": ("vantage-points", "networks"),
}
# Open to every token: documentation, limits, and the account of the token.
_OPEN = frozenset({"", "account", "docs", "limits", "openapi.json", "problems"})
_BY_ADDRESS = {part: name for name, parts in SUBJECTS.items() for part in parts}


def check(names: list[str]) -> list[str]:
    """Return the names in their order; raises ``BadInput`` for an unknown one."""
    unknown = sorted(set(names) - set(SUBJECTS))
    if unknown:
        raise BadInput(f"{unknown[0]!r} is not one of {', '.join(SUBJECTS)}", field="subjects")
    return [name for name in SUBJECTS if name in names]


def missing_subject(token: ApiToken, route: str) -> str:
    """Return the subject that a token lacks for a route ``api/v1/…``; empty where it lacks none.

    An address of no subject is refused to tokens with a limit.
    """
    part = route.split("/")[2] if route.count("/") > 1 else ""
    if not token.subjects or part in _OPEN:
        return ""
    subject = _BY_ADDRESS.get(part, part)
    return "" if subject in token.subjects else subject
