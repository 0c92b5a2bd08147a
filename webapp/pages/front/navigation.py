"""The five entries of the site, their pages, and the groups of a survey's report pages."""

from dataclasses import dataclass
from typing import Any

from webapp.pages.ui.links import path_to
from webapp.pages.ui.report_families import FAMILY_BY_SLUG


@dataclass(frozen=True, slots=True)
class MenuPage:
    """A page of a entry's sub-navigation; ``section`` is what its templates are given."""

    title: str
    route: str
    section: str
    is_for_accounts: bool = False
    is_of_survey: bool = False


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of the main navigation; its first page is what it opens."""

    title: str
    pages: tuple[MenuPage, ...]

    @property
    def sections(self) -> frozenset[str]:
        """Sections of its pages."""
        return frozenset(page.section for page in self.pages)


MENU = (
    MenuEntry(
        "Explore",
        (
            MenuPage("Reports", "survey", "reports", is_of_survey=True),
            MenuPage("Map", "survey-map", "atlas", is_of_survey=True),
            MenuPage("Domains", "domains", "domains", is_of_survey=True),
            MenuPage("Check one domain", "check", "check"),
            MenuPage("Compare surveys", "compare", "comparison"),
        ),
    ),
    MenuEntry(
        "What if",
        (
            MenuPage("Outages", "outages", "outages", is_of_survey=True),
            MenuPage("Audits", "audits", "audits"),
        ),
    ),
    MenuEntry(
        "Recommend",
        (
            MenuPage("Overview", "recommend", "recommendations"),
            MenuPage("For your domains", "recommend-domains", "recommendations"),
            MenuPage("For your clients", "recommend-clients", "recommendations"),
            MenuPage("From your samples", "recommend-samples", "recommendations"),
            MenuPage("Beacons", "beacons", "beacons", is_for_accounts=True),
        ),
    ),
    MenuEntry(
        "Measure",
        (
            MenuPage("Surveys", "surveys", "surveys"),
            MenuPage("Campaigns", "campaigns", "campaigns"),
            MenuPage("Vantage points", "vantage-points", "vantages"),
            MenuPage("Traffic", "captures", "traffic"),
            MenuPage("Schedules", "schedules", "schedules", is_for_accounts=True),
        ),
    ),
    MenuEntry("Instances", (MenuPage("Instances", "screening", "screening"),)),
)
# The report pages of a survey by the question that they answer.
REPORT_GROUPS = (
    ("Where", ("providers", "regions", "zones")),
    ("How", ("patterns", "name-servers", "customers", "top-domains", "text-figures")),
    ("Risk", ("outages", "dangling")),
)


def main_links(section: str, slug: str) -> list[dict[str, Any]]:
    """The main navigation: ``{title, href, is_here}`` of each entry.

    ``slug`` is the survey that pages of surveys are shown for, empty where there is none.
    """
    links = []
    for entry in MENU:
        first = next(p for p in entry.pages if slug or not p.is_of_survey)
        href = _address(first, slug)
        links.append({"title": entry.title, "href": href, "is_here": section in entry.sections})
    return links


def section_links(
    section: str, route: str, slug: str, *, has_account: bool
) -> list[dict[str, Any]]:
    """The sub-navigation of the entry of a section: ``{title, href, is_here}`` of each page.

    Empty where the entry has one page only, or the section belongs to no entry.
    """
    entry = next((entry for entry in MENU if section in entry.sections), None)
    if entry is None or len(entry.pages) < 2:
        return []
    return [
        {"title": p.title, "href": _address(p, slug), "is_here": _is_here(p, section, route)}
        for p in entry.pages
        if (slug or not p.is_of_survey) and (has_account or not p.is_for_accounts)
    ]


def _is_here(page: MenuPage, section: str, route: str) -> bool:
    """Whether the page shown is the page's, or below it."""
    shared = sum(p.section == section for entry in MENU for p in entry.pages) > 1
    return page.route == route if shared else page.section == section


def _address(page: MenuPage, slug: str) -> str:
    return path_to(page.route, *([slug] if page.is_of_survey else []))


def groups_of_survey(
    slug: str, section: str, family: str, *, is_shared: bool = False
) -> list[dict[str, Any]]:
    """The pages of a survey in groups: ``{title, href, is_here, pages}``.

    The pages of a group are ``{title, href, is_here}``; ``family`` is the report page shown, or "".
    A share link opens one survey alone, so that nothing is compared there.
    """
    groups = [_group("Overview", [("Overview", path_to("survey", slug), False)])]
    for title, families in REPORT_GROUPS:
        pages = [
            (FAMILY_BY_SLUG[f].title, path_to("report", slug, f), f == family) for f in families
        ]
        if title == "Where":
            pages.insert(0, ("Map", path_to("survey-map", slug), section == "atlas"))
        if title == "Risk":
            pages.append(("What if", path_to("outages", slug), section == "outages"))
        groups.append(_group(title, pages))
    domains = path_to("domains", slug)
    data = [("Domains", domains, section == "domains")]
    if not is_shared:
        data.append(("Compare", f"{path_to('compare')}?after={slug}", False))
    return [*groups, _group("Data", data)]


def _group(title: str, found: list[tuple[str, str, bool]]) -> dict[str, Any]:
    pages = [{"title": t, "href": href, "is_here": is_here} for t, href, is_here in found]
    is_here = any(page["is_here"] for page in pages)
    return {"title": title, "pages": pages, "href": pages[0]["href"], "is_here": is_here}
