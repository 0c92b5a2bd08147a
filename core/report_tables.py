"""The report tables: their names, columns and where they come from.

One closed list, so that analysis, the testbed's truth, pages, API and docs speak of the same
columns. Shares are fractions of one, rounded to six decimals.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Cell = str | int | float | None
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table: id, title, columns in order, and the published table that it restates, if any.

    ``keys`` are the columns that identify a row: comparisons join on them. ``pages`` are the
    slugs of the report pages that show the table, its own first; pages show their own tables before
    those of others, in the order of ``SPECS``, but each behind those in ``after``.
    """

    id: str
    title: str
    columns: tuple[str, ...]
    source: str
    keys: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A filled table; ``n`` is the size of the population that the shares refer to."""

    id: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    n: int = 0

    def as_json(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "rows": [list(r) for r in self.rows]}


SPECS: tuple[TableSpec, ...] = (
    TableSpec(
        "providers",
        "Use of clouds and other hosting",
        (
            "class",
            "domains",
            "domains_share",
            "subdomains",
            "subdomains_share",
            "domains_cloud_only",
            "domains_cloud_only_share",
        ),
        "IMC'13 Table 5",
        ("class",),
        ("providers",),
    ),
    TableSpec(
        "patterns",
        "Front-end features",
        (
            "provider",
            "feature",
            "domains",
            "domains_share",
            "subdomains",
            "subdomains_share",
            "instances",
        ),
        "IMC'13 Table 8",
        ("provider", "feature"),
        ("patterns",),
    ),
    TableSpec(
        "regions",
        "Region usage",
        (
            "provider",
            "region",
            "domains",
            "subdomains",
            "subdomains_share",
            "only_here",
            "only_here_share",
        ),
        "IMC'13 Table 10",
        ("provider", "region"),
        ("regions",),
    ),
    TableSpec(
        "region-counts",
        "Regions per subdomain",
        ("provider", "regions", "subdomains", "share", "cumulative_share"),
        "IMC'13 Figure 12a",
        ("provider", "regions"),
        ("regions",),
    ),
    TableSpec(
        "domain-region-means",
        "Mean regions per subdomain, by domain",
        ("provider", "mean_at_most", "domains", "share", "cumulative_share"),
        "IMC'13 Figure 12b",
        ("provider", "mean_at_most"),
        ("regions",),
    ),
    TableSpec(
        "instance-counts",
        "Front-end instances per subdomain",
        ("feature", "instances", "subdomains", "share", "cumulative_share"),
        "IMC'13 Figure 10",
        ("feature", "instances"),
        ("patterns",),
    ),
    TableSpec(
        "name-servers",
        "Where name servers are hosted",
        ("location", "name_servers", "share"),
        "IMC'13 section 4.4.1",
        ("location",),
        ("name-servers",),
    ),
    TableSpec(
        "name-server-counts",
        "Name servers per subdomain",
        ("name_servers", "subdomains", "share", "cumulative_share"),
        "IMC'13 Figure 11",
        ("name_servers",),
        ("name-servers",),
    ),
    TableSpec(
        "top-domains",
        "Best-ranked domains on EC2",
        ("rank", "domain", "subdomains", "aws_subdomains"),
        "IMC'13 Table 6",
        ("domain",),
        ("top-domains",),
    ),
    TableSpec(
        "top-features",
        "Features of the best-ranked domains on EC2",
        ("rank", "domain", "aws_subdomains", "vm", "paas", "elb", "elb_ips", "cdn"),
        "IMC'13 Table 9",
        ("domain",),
        ("top-domains", "patterns"),
    ),
    TableSpec(
        "top-regions",
        "Regions of the best-ranked cloud-using domains",
        ("rank", "domain", "cloud_subdomains", "regions", "k1", "k2", "k3_or_more"),
        "IMC'13 Table 11",
        ("domain",),
        ("top-domains", "regions"),
    ),
    TableSpec(
        "zone-usage",
        "Use of availability zones",
        (
            "provider",
            "region",
            "zone",
            "domains",
            "subdomains",
            "subdomains_share",
            "only_here",
            "only_here_share",
            "instances",
        ),
        "IMC'13 Table 12",
        ("provider", "region", "zone"),
        ("zones",),
    ),
    TableSpec(
        "zone-counts",
        "Zones per subdomain",
        ("provider", "zones", "subdomains", "share", "cumulative_share"),
        "IMC'13 Figure 13a",
        ("provider", "zones"),
        ("zones",),
    ),
    TableSpec(
        "domain-zone-means",
        "Mean zones per subdomain, by domain",
        ("provider", "mean_at_most", "domains", "share", "cumulative_share"),
        "IMC'13 Figure 13b",
        ("provider", "mean_at_most"),
        ("zones",),
    ),
    TableSpec(
        "top-zones",
        "Zones of the best-ranked domains on EC2",
        ("rank", "domain", "aws_subdomains", "zones", "z0", "z1", "z2", "z3_or_more"),
        "IMC'13 Table 13",
        ("domain",),
        ("top-domains", "zones"),
    ),
    TableSpec(
        "elb-sharing",
        "Subdomains behind one load balancer's address",
        ("names_at_most", "elb_ips", "share", "cumulative_share"),
        "IMC'13 section 4.4.1",
        ("names_at_most",),
        ("patterns",),
    ),
    TableSpec(
        "name-server-sharing",
        "Domains that share a name server",
        ("domains_at_most", "name_servers", "share", "cumulative_share"),
        "IMC'13 section 4.4.1",
        ("domains_at_most",),
        ("name-servers",),
        after=("name-server-operators",),
    ),
    TableSpec(
        "name-server-operators",
        "Who runs the name servers",
        (
            "operator",
            "name_servers",
            "domains",
            "domains_share",
            "subdomains",
            "subdomains_share",
            "only_here",
            "only_here_share",
        ),
        "IMC'13 section 4.4.1",
        ("operator",),
        ("name-servers",),
    ),
    TableSpec(
        "customers",
        "Customers' countries and hosting countries",
        (
            "basis",
            "reading",
            "subdomains",
            "known",
            "known_share",
            "other_country",
            "other_country_share",
            "other_continent",
            "other_continent_share",
        ),
        "IMC'13 section 4.4.2",
        ("basis", "reading"),
        ("customers",),
    ),
    TableSpec(
        "customer-countries",
        "Where customers are, and whether hosting is there",
        (
            "country",
            "continent",
            "subdomains",
            "other_country",
            "other_country_share",
            "other_continent",
            "other_continent_share",
        ),
        "IMC'13 section 4.4.2",
        ("country", "continent"),
        ("customers",),
    ),
    TableSpec(
        "outages",
        "Subdomains that an outage takes down",
        (
            "kind",
            "provider",
            "target",
            "down",
            "down_share",
            "part",
            "part_share",
            "down_at_most",
            "by_name_servers",
        ),
        "IMC'13 sections 4.4.2 and 4.4.3",
        ("kind", "provider", "target"),
        ("outages",),
    ),
    TableSpec(
        "outage-domains",
        "Domains that an outage takes down",
        (
            "kind",
            "provider",
            "target",
            "down",
            "down_share",
            "part",
            "part_share",
            "down_cloud_only",
            "down_cloud_only_share",
        ),
        "IMC'13 sections 4.4.2 and 4.4.3",
        ("kind", "provider", "target"),
        ("outages",),
    ),
    TableSpec(
        "dangling",
        "Aliases whose target does not exist",
        (
            "provider",
            "rule",
            "claimable",
            "subdomains",
            "subdomains_share",
            "domains",
            "targets",
        ),
        "",
        ("provider", "rule"),
        ("dangling",),
    ),
    TableSpec(
        "dangling-names",
        "Names with a dangling alias",
        ("rank", "domain", "name", "missing", "provider", "rule", "claimable"),
        "",
        ("name", "missing"),
        ("dangling",),
    ),
    TableSpec(
        "text-figures",
        "Other figures of the text",
        ("figure", "share", "part", "whole"),
        "IMC'13 sections 4.3 and 4.4",
        ("figure",),
        ("text-figures",),
    ),
)
SPEC_BY_ID = {spec.id: spec for spec in SPECS}
# The published tables list ten EC2 domains (6 and 9) and fourteen cloud domains (11); the latter
# leave out conduit.com, which the former have on rank 38, so it takes fifteen to hold all.
TOP_EC2_DOMAINS = 10
TOP_CLOUD_DOMAINS = 15
# Upper edges of the classes in which sharers of one address or name server are counted; the last
# class, without an edge, is written as the largest count found.
SHARING_EDGES = (1, 2, 3, 4, 5, 9, 19, 49, 99, 999)
# Number of rows of tables without a published length.
TOP_OPERATORS = 25
TOP_COUNTRIES = 40
TOP_DANGLING = 200
# Upper edges of the classes in which a domain's mean number of regions or zones is counted.
MEAN_EDGES = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0)


def share(part: int, whole: int) -> float | None:
    """``part / whole`` rounded to six decimals; of an empty population none is known."""
    return round(part / whole, 6) if whole else None


def cumulate(counts: Mapping[N, int]) -> list[tuple[N, int, float | None, float | None]]:
    """Turn ``{value: count}`` into rows (value, count, share, cumulative share), by value."""
    whole = sum(counts.values())
    rows, running = [], 0
    for value in sorted(counts):
        running += counts[value]
        rows.append((value, counts[value], share(counts[value], whole), share(running, whole)))
    return rows
