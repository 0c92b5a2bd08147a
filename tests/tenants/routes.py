"""Every address of the product, from the resolver itself, each in one class.

An address that is in no class fails the tests: whoever adds one says here who may open it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

# Names something by its slug: for its owner, and whoever has a link to it.
SHOWN = "shown"
# The same for its maker alone.
MAKER = "maker"
# One thing of somebody's that has a name of its own, with tests of its own beside its page.
OWNED = "owned"
# Lists and pages for everybody, which hold what their reader may see.
OPEN = "open"
# For people with an account, and about nothing but that.
ACCOUNT = "account"

# What an address of the first two classes names.
SURVEY, MEASUREMENT, AUDIT = "survey", "campaign", "audit"
_FOR_MAKERS = r"(visibility|links(/<int:number>)?)"
RULES = (
    (MAKER, SURVEY, r"s/<slug:slug>/(sharing/.*|delete/)"),
    (MAKER, SURVEY, rf"api/v1/surveys/<slug>/{_FOR_MAKERS}"),
    (SHOWN, SURVEY, r"s/<slug:slug>/.*"),
    (SHOWN, SURVEY, r"(api/v1/)?compare/<(slug:)?before>/<(slug:)?after>.*"),
    (SHOWN, SURVEY, r"api/v1/surveys/<slug>.*"),
    (MAKER, MEASUREMENT, r"wide-area/<slug:slug>/(sharing/.*|delete/|clone/|do/.*)"),
    (MAKER, MEASUREMENT, rf"api/v1/measurements/<slug>/({_FOR_MAKERS}|clone)"),
    (SHOWN, MEASUREMENT, r"wide-area/<slug:slug>/.*"),
    (SHOWN, MEASUREMENT, r"wide-area/compare/<slug:before>/<slug:after>/"),
    (SHOWN, MEASUREMENT, r"api/v1/(measurements|wide-area)/<slug>.*"),
    (SHOWN, MEASUREMENT, r"api/v1/wide-area-comparison/<before>/<after>.*"),
    (MAKER, AUDIT, rf"api/v1/audits/<slug>/{_FOR_MAKERS}"),
    (MAKER, AUDIT, r"audits/<slug:slug>/(sharing/.*|delete/)"),
    (SHOWN, AUDIT, r"audits/<slug:slug>/.*"),
    (SHOWN, AUDIT, r"api/v1/audits/<slug>.*"),
    (OPEN, "", r"audits/(new/|run/|lists/|policies/|suppressions/)?"),
    (OWNED, "", r"audits/(lists|policies|suppressions)/.+"),
    (OPEN, "", r"api/v1/audits(/plan)?|api/v1/audit-(rules|policies|suppressions|policies/schema)"),
    (OPEN, "", r"api/v1/domain-lists"),
    (OWNED, "", r"api/v1/(domain-lists|audit-policies|audit-suppressions)/.*"),
    (ACCOUNT, "", r"account/.*|schedules/(new/)?|alerts/|beacons/"),
    (OPEN, "", r"alerts/confirm/<str:token>/|api/v1/(schedules|alert-endpoints)"),
    (OWNED, "", r"(schedules|alerts)/.+|api/v1/(schedules|alert-endpoints)/.+"),
    (
        ACCOUNT,
        "",
        r"account/.*|sign-(in|out|up)/|sign-in/(code|oidc)/|sign-in/oidc/callback/|welcome/<str:who>/<str:key>/|api/v1/account",
    ),
    (
        OPEN,
        "",
        r"|search/|ask/|check/(<str:domain>/(badge\.svg)?)?|surveys/(new/|run/)?|compare/|about/|components/|glossary/",
    ),
    (OPEN, "", r"traffic/(new/)?|api/v1/captures"),
    (OWNED, "", r"traffic/<slug:name>/.*|api/v1/captures/.+"),
    (OPEN, "", r"api/v1/(|surveys|plan|range-tables|limits|docs|openapi\.json|problems(/<kind>)?)"),
    (OPEN, "", r"api/v1/domains/<domain>/(history|card)|api/v1/client-(weights|places)"),
    (
        OPEN,
        "",
        r"screening/(log/|pay-off/|pay-off\.<slug:kind>|(good-machines|instance-types)(/|\.csv))?",
    ),
    (OPEN, "", r"opt-out/(<str:token>/)?"),
    # Metrics are for the machine itself, or by a token: tests/api/test_monitoring.py.
    (OPEN, "", r"healthz|readyz|metrics"),
    (OPEN, "", r"agent|api/v1/screening/(agent|schema|verdict|good-shares|instance-types)"),
    (OPEN, "", r"wide-area/(new/|run/|compare/)?|api/v1/wide-area"),
    (OPEN, "", r"api/v1/measurements(/presets|/plan)?"),
    (OWNED, "", r"screening/(pools|shared)/.*|api/v1/screening/(pools|shared).*"),
    (OPEN, "", r"inside/(<slug:name>/)?|api/v1/(experiments|simulations)"),
    (OWNED, "", r"inside/runs/.+|api/v1/simulations/.+"),
    (OPEN, "", r"beacon/<slug:key>(\.js)?|api/v1/beacons"),
    (OWNED, "", r"(api/v1/)?beacons/.+"),
    (OWNED, "", r"recommendations/.*|api/v1/recommendations.*"),
    (OWNED, "", r"vantages/.*|vantage-points/.*|api/v1/vantage-points.*|api/v1/networks.*"),
)


@dataclass(frozen=True, slots=True)
class Address:
    """A route, the class that it is in, if any, and what it names."""

    route: str
    name: str
    kind: str | None
    of: str

    @property
    def is_api(self) -> bool:
        return self.route.startswith("api/")

    def fill(self, values: dict[str, Any]) -> str:
        """The path, its parameters filled in."""

        def value(found: re.Match[str]) -> str:
            usual = "1" if found[1] == "int:" else "none"
            return str(values.get(found[2], usual))

        path = re.sub(r"<(\w+:)?(\w+)>", value, self.route)
        return f"/{path}"


def class_of(route: str) -> tuple[str | None, str]:
    """The class of a route, and what it names."""
    found = ((kind, of) for kind, of, rule in RULES if re.fullmatch(rule, route))
    return next(found, (None, ""))


def every_address() -> list[Address]:
    """All routes of pages and API, each once."""
    found = {
        route: Address(route, name or "", *class_of(route))
        for route, name in _walk(get_resolver().url_patterns, "")
    }
    return list(found.values())


def _walk(patterns: list[Any], before: str) -> Iterator[tuple[str, str | None]]:
    for item in patterns:
        route = before + str(item.pattern)
        if isinstance(item, URLResolver):
            yield from _walk(item.url_patterns, route)
        elif isinstance(item, URLPattern):
            yield route, item.name
