"""The report pages: which tables share one, and in which order they are read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """One report page; the first table carries its headline."""

    slug: str
    title: str
    question: str
    tables: tuple[str, ...]


FAMILIES: tuple[Family, ...] = (
    Family("providers", "Providers", "Which clouds do they use?", ("providers",)),
    Family(
        "patterns",
        "Patterns",
        "What answers at the front?",
        ("patterns", "instance-counts", "elb-sharing", "top-features"),
    ),
    Family(
        "regions",
        "Regions",
        "Where is it hosted, and in how many places?",
        ("regions", "region-counts", "domain-region-means", "top-regions"),
    ),
    Family(
        "zones",
        "Zones",
        "In which availability zones, and in how many?",
        ("zone-usage", "zone-counts", "domain-zone-means", "top-zones"),
    ),
    Family(
        "customers",
        "Customers",
        "Is it hosted where its customers are?",
        ("customers", "customer-countries"),
    ),
    Family(
        "name-servers",
        "Name servers",
        "Who answers for the names?",
        ("name-servers", "name-server-counts", "name-server-operators", "name-server-sharing"),
    ),
    Family(
        "outages",
        "Outages",
        "What fails, and who fails with it?",
        ("outages", "outage-domains"),
    ),
    Family(
        "dangling",
        "Dangling aliases",
        "Which names have an alias whose target does not exist, and could be taken over?",
        ("dangling", "dangling-names"),
    ),
    Family(
        "top-domains",
        "Top domains",
        "What do the best-known domains do?",
        ("top-domains", "top-features", "top-regions", "top-zones"),
    ),
    Family(
        "text-figures",
        "Single figures",
        "What else does the study say?",
        ("text-figures",),
    ),
)
FAMILY_BY_SLUG = {family.slug: family for family in FAMILIES}
FAMILY_OF_TABLE = {table: f for f in reversed(FAMILIES) for table in f.tables}


def neighbours(family: Family) -> tuple[Family | None, Family | None]:
    """The pages before and after."""
    at = FAMILIES.index(family)
    before = FAMILIES[at - 1] if at else None
    after = FAMILIES[at + 1] if at + 1 < len(FAMILIES) else None
    return before, after
