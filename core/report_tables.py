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
    """One table: id, title, columns in order, and the published table that it restates, if any."""

    id: str
    title: str
    columns: tuple[str, ...]
    source: str


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
    ),
    TableSpec(
        "region-counts",
        "Regions per subdomain",
        ("provider", "regions", "subdomains", "share", "cumulative_share"),
        "IMC'13 Figure 12a",
    ),
    TableSpec(
        "domain-region-means",
        "Mean regions per subdomain, by domain",
        ("provider", "mean_at_most", "domains", "share", "cumulative_share"),
        "IMC'13 Figure 12b",
    ),
    TableSpec(
        "instance-counts",
        "Front-end instances per subdomain",
        ("feature", "instances", "subdomains", "share", "cumulative_share"),
        "IMC'13 Figure 10",
    ),
    TableSpec(
        "name-servers",
        "Where name servers stand",
        ("location", "name_servers", "share"),
        "IMC'13 section 4.4.1",
    ),
    TableSpec(
        "name-server-counts",
        "Name servers per subdomain",
        ("name_servers", "subdomains", "share", "cumulative_share"),
        "IMC'13 Figure 11",
    ),
    TableSpec(
        "top-domains",
        "Best-ranked domains on EC2",
        ("rank", "domain", "subdomains", "aws_subdomains"),
        "IMC'13 Table 6",
    ),
    TableSpec(
        "top-features",
        "Features of the best-ranked domains on EC2",
        ("rank", "domain", "aws_subdomains", "vm", "paas", "elb", "elb_ips", "cdn"),
        "IMC'13 Table 9",
    ),
    TableSpec(
        "top-regions",
        "Regions of the best-ranked cloud-using domains",
        ("rank", "domain", "cloud_subdomains", "regions", "k1", "k2", "k3_or_more"),
        "IMC'13 Table 11",
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
    ),
    TableSpec(
        "zone-counts",
        "Zones per subdomain",
        ("provider", "zones", "subdomains", "share", "cumulative_share"),
        "IMC'13 Figure 13a",
    ),
    TableSpec(
        "domain-zone-means",
        "Mean zones per subdomain, by domain",
        ("provider", "mean_at_most", "domains", "share", "cumulative_share"),
        "IMC'13 Figure 13b",
    ),
    TableSpec(
        "top-zones",
        "Zones of the best-ranked domains on EC2",
        ("rank", "domain", "aws_subdomains", "zones", "z0", "z1", "z2", "z3_or_more"),
        "IMC'13 Table 13",
    ),
    TableSpec(
        "elb-sharing",
        "Subdomains behind one load balancer's address",
        ("names_at_most", "elb_ips", "share", "cumulative_share"),
        "IMC'13 section 4.4.1",
    ),
    TableSpec(
        "name-server-sharing",
        "Domains that share a name server",
        ("domains_at_most", "name_servers", "share", "cumulative_share"),
        "IMC'13 section 4.4.1",
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
    ),
    TableSpec(
        "dangling-names",
        "Names whose alias leads nowhere",
        ("rank", "domain", "name", "missing", "provider", "rule", "claimable"),
        "",
    ),
    TableSpec(
        "text-figures",
        "Single figures of the text",
        ("figure", "share", "part", "whole"),
        "IMC'13 sections 4.3 and 4.4",
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
# Rows of tables whose length no published table gives.
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
