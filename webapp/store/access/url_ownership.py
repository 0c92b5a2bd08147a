"""Which addresses, of pages and of the API, name something of somebody's, and for whom they are.

Routes go in as the resolver knows them; out comes the kind of thing that they are about.
"""

import re
from collections.abc import Mapping
from typing import Any

from webapp.store.models import Campaign, Survey

# Kinds of things that have a name in addresses, a maker, and links that show them.
MODELS: dict[str, type[Survey] | type[Campaign]] = {
    "survey": Survey,
    "campaign": Campaign,
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
}
_PARAMETERS = ("slug", "before", "after")
# Who else sees it, links that show it, starting it again: for whoever made it.
_FOR_ITS_MAKER = re.compile(
    r".*>/(?:sharing/.*|delete/|visibility|links(?:/.*)?|clone/?|do/<slug:action>/)"
)


def kind_of(route: str) -> str | None:
    """What the route's address names: surveys, measurement campaigns, or neither."""
    return next((kind for kind, rule in _ROUTES.items() if rule.match(route)), None)


def names_in(values: Mapping[str, Any]) -> list[str]:
    """The names that stand in an address, by the parameters of its route."""
    return [values[key] for key in _PARAMETERS if key in values]


def is_to_be_shown(route: str, kind: str) -> bool:
    """Whether a link that shows one thing of this kind opens the route: of that one thing alone."""
    is_of_two = "before>" in route
    return kind_of(route) == kind and not is_of_two and not _FOR_ITS_MAKER.fullmatch(route)
