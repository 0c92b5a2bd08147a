"""Routes of owned objects: which pages and API addresses name a survey, campaign or audit."""

import re
from collections.abc import Mapping
from typing import Any

from webapp.store.models import Audit, Campaign, Survey

# Models with a slug in addresses, a creator and share links.
MODELS: dict[str, type[Survey] | type[Campaign] | type[Audit]] = {
    "survey": Survey,
    "campaign": Campaign,
    "audit": Audit,
}
_ROUTES = {
    "survey": re.compile(
        r"(?:api/v1/surveys/<(?:\w+:)?slug>|s/<slug:slug>/"
        r"|(?:api/v1/)?compare/<(?:slug:)?before>/<(?:slug:)?after>)"
    ),
    "campaign": re.compile(
        r"(?:api/v1/(?:measurements|wide-area)/<(?:\w+:)?slug>|wide-area/<slug:slug>/"
        r"|(?:api/v1/wide-area-comparison|wide-area/compare)/<(?:slug:)?before>/<(?:slug:)?after>)"
    ),
    "audit": re.compile(r"(?:api/v1/)?audits/<(?:\w+:)?slug>"),
}
_PARAMETERS = ("slug", "before", "after")
# Sharing, deletion, cloning and actions are for the creator.
_FOR_ITS_MAKER = re.compile(
    r".*>/(?:sharing/.*|delete/|visibility|links(?:/.*)?|clone/?|do/<slug:action>/)"
)


def kind_of(route: str) -> str | None:
    """Return the kind of object that a route names, or None."""
    return next((kind for kind, rule in _ROUTES.items() if rule.match(route)), None)


def names_in(values: Mapping[str, Any]) -> list[str]:
    """Return the slugs of the route's parameters."""
    return [values[key] for key in _PARAMETERS if key in values]


def is_shareable_route(route: str, kind: str) -> bool:
    """Whether share links of this kind give access to the route."""
    is_of_two = "before>" in route
    return kind_of(route) == kind and not is_of_two and not _FOR_ITS_MAKER.fullmatch(route)
