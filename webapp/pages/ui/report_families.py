"""The report pages in the order of reading; tables name theirs in ``TableSpec.pages``."""

from dataclasses import dataclass

from core.report_tables import SPECS


@dataclass(frozen=True, slots=True)
class Family:
    """One report page; the first table carries its headline."""

    slug: str
    title: str
    question: str
    tables: tuple[str, ...]


def _tables_of(slug: str) -> tuple[str, ...]:
    """Ids of the tables of a page: its own, then those that it shares with another page."""
    shown = sorted((s for s in SPECS if slug in s.pages), key=lambda s: s.pages[0] != slug)
    found: list[str] = []
    for spec in shown:
        found.extend(s for s in spec.after if s not in found)
        if spec.id not in found:
            found.append(spec.id)
    return tuple(found)


_PAGES = (
    ("providers", "Providers", "Which clouds do they use?"),
    ("patterns", "Patterns", "What answers at the front?"),
    ("regions", "Regions", "Where is it hosted, and in how many places?"),
    ("zones", "Zones", "In which availability zones, and in how many?"),
    ("customers", "Customers", "Is it hosted where its customers are?"),
    ("name-servers", "Name servers", "Who answers for the names?"),
    ("outages", "Outages", "What fails, and who fails with it?"),
    (
        "dangling",
        "Dangling aliases",
        "Which names have an alias whose target does not exist, and could be taken over?",
    ),
    ("top-domains", "Top domains", "What do the best-known domains do?"),
    ("text-figures", "Other figures", "What else does the study report?"),
)
FAMILIES: tuple[Family, ...] = tuple(
    Family(slug, title, question, _tables_of(slug)) for slug, title, question in _PAGES
)
FAMILY_BY_SLUG = {family.slug: family for family in FAMILIES}
FAMILY_OF_TABLE = {table: f for f in reversed(FAMILIES) for table in f.tables}


def neighbours(family: Family) -> tuple[Family | None, Family | None]:
    """The pages before and after."""
    at = FAMILIES.index(family)
    before = FAMILIES[at - 1] if at else None
    after = FAMILIES[at + 1] if at + 1 < len(FAMILIES) else None
    return before, after
