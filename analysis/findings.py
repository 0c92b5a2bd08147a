"""Findings in one sentence, with the number in it."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.tables import Table

PROVIDER_NAMES = {"aws": "Amazon", "azure": "Microsoft", "google": "Google"}
FEATURE_NAMES = {
    "vm": "virtual machines",
    "elb": "load balancers",
    "beanstalk": "Beanstalk",
    "heroku-elb": "Heroku behind a load balancer",
    "heroku": "Heroku",
    "cloudfront": "CloudFront",
    "cs": "cloud services",
    "tm": "Traffic Manager",
    "cdn": "Azure's CDN",
    "unclassified": "front ends of no known pattern",
}
Tables = Mapping[str, Table]


@dataclass(frozen=True, slots=True)
class Finding:
    """A figure, what it says, and the table that shows it."""

    value: str
    text: str
    table_id: str


def percent(fraction: float) -> str:
    """A share as a reader expects it: ``97.2 %``."""
    return f"{fraction * 100:.1f} %"


def number(count: int, one: str, many: str | None = None) -> str:
    """``1 domain``, ``1,234 domains``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def provider_name(provider: str) -> str:
    """The provider as people say it."""
    return PROVIDER_NAMES.get(provider, provider.capitalize())


def _rows(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def headline(table_id: str, tables: Tables) -> str:
    """The finding of one table; says so when there is nothing to find."""
    if not _rows(tables["providers"])[-1]["subdomains"]:
        return "No subdomain of these domains answers from a known cloud"
    return _HEADLINES[table_id](tables)


def _providers(tables: Tables) -> str:
    rows = {r["class"]: r for r in _rows(tables["providers"])}
    total = rows["total"]
    leader = max(
        (c.removesuffix(" total") for c in rows if c.endswith(" total")),
        key=lambda p: rows[f"{p} total"]["subdomains"],
    )
    fraction = percent(rows[f"{leader} total"]["subdomains_share"])
    return (
        f"{fraction} of {number(total['subdomains'], 'cloud-using subdomain')} "
        f"use {provider_name(leader)}"
    )


def _patterns(tables: Tables) -> str:
    rows = [r for r in _rows(tables["patterns"]) if r["feature"] != "unclassified"]
    best = max(rows, key=lambda r: r["subdomains"])
    return (
        f"{percent(best['subdomains_share'])} of {provider_name(best['provider'])}-hosted "
        f"subdomains answer directly from {FEATURE_NAMES[best['feature']]}"
        if best["feature"] == "vm"
        else f"{percent(best['subdomains_share'])} of {provider_name(best['provider'])}-hosted "
        f"subdomains use {FEATURE_NAMES[best['feature']]}"
    )


def _regions(tables: Tables) -> str:
    rows = _rows(tables["regions"])
    if not rows:
        return "No front end stands in a region of a known cloud"
    best = max(rows, key=lambda r: r["subdomains"])
    return (
        f"{percent(best['subdomains_share'])} of {provider_name(best['provider'])}-hosted "
        f"subdomains stand in {best['region']}"
    )


def _leading(tables: Tables) -> str:
    sizes: dict[str, int] = defaultdict(int)
    for row in _rows(tables["region-counts"]):
        sizes[row["provider"]] += row["subdomains"]
    return max(sizes, key=lambda p: sizes[p], default="")


def single_region_share(tables: Tables) -> tuple[str, float]:
    """(provider, share of its names in one region) for the provider with the most names."""
    leader = _leading(tables)
    for row in _rows(tables["region-counts"]):
        if row["provider"] == leader and row["regions"] == 1:
            return leader, row["share"]
    return leader, 0.0


def _region_counts(tables: Tables) -> str:
    leader, fraction = single_region_share(tables)
    if not leader:
        return "No front end stands in a region of a known cloud"
    return (
        f"{percent(fraction)} of {provider_name(leader)}-hosted subdomains live in a single region"
    )


def _region_means(tables: Tables) -> str:
    leader = _leading(tables)
    for row in _rows(tables["domain-region-means"]):
        if row["provider"] == leader and row["mean_at_most"] == 1:
            return (
                f"{percent(row['share'])} of domains on {provider_name(leader)} keep every "
                "subdomain in one region"
            )
    return "No domain keeps every subdomain in one region"


def _instances(tables: Tables) -> str:
    single = [r for r in _rows(tables["instance-counts"]) if r["feature"] == "vm"]
    alone = next((r["share"] for r in single if r["instances"] == 1), 0.0)
    if not single:
        return "No subdomain answers directly from a virtual machine"
    return f"{percent(alone)} of subdomains on virtual machines answer from a single address"


def _name_servers(tables: Tables) -> str:
    rows = {r["location"]: r for r in _rows(tables["name-servers"])}
    total = rows["total"]["name_servers"]
    if not total:
        return "No name server of these domains is known"
    return (
        f"{percent(rows['other']['share'])} of {number(total, 'name server')} of cloud-using "
        "domains stand outside every known cloud"
    )


def _server_counts(tables: Tables) -> str:
    rows = _rows(tables["name-server-counts"])
    if not rows:
        return "No name server of these domains is known"
    within = sum(r["share"] for r in rows if 3 <= r["name_servers"] <= 10)
    return f"{percent(within)} of cloud-using subdomains rely on three to ten name servers"


def _top_domains(tables: Tables) -> str:
    rows = _rows(tables["top-domains"])
    if not rows:
        return "None of these domains uses Amazon"
    best = rows[0]
    return (
        f"{best['domain']}, ranked {best['rank']:,}, is the best-ranked domain on Amazon, with "
        f"{number(best['aws_subdomains'], 'subdomain')} there of {best['subdomains']:,}"
    )


def _top_features(tables: Tables) -> str:
    rows = _rows(tables["top-features"])
    with_vm = sum(r["vm"] > 0 for r in rows)
    return (
        f"{with_vm} of the {number(len(rows), 'best-ranked domain')} on Amazon use virtual machines"
    )


def _top_regions(tables: Tables) -> str:
    rows = _rows(tables["top-regions"])
    wide = sum(r["k2"] + r["k3_or_more"] > 0 for r in rows)
    return (
        f"{wide} of the {number(len(rows), 'best-ranked cloud-using domain')} put any subdomain "
        "in more than one region"
    )


_HEADLINES: dict[str, Callable[[Tables], str]] = {
    "providers": _providers,
    "patterns": _patterns,
    "regions": _regions,
    "region-counts": _region_counts,
    "domain-region-means": _region_means,
    "instance-counts": _instances,
    "name-servers": _name_servers,
    "name-server-counts": _server_counts,
    "top-domains": _top_domains,
    "top-features": _top_features,
    "top-regions": _top_regions,
}


def front_findings(tables: Tables) -> tuple[Finding, ...]:
    """The three findings of the front door; none where nothing uses a cloud."""
    if not _rows(tables["providers"])[-1]["subdomains"] or not tables["regions"].rows:
        return ()
    leader, single = single_region_share(tables)
    best = max(_rows(tables["regions"]), key=lambda r: r["subdomains"])
    features = [r for r in _rows(tables["patterns"]) if r["feature"] != "unclassified"]
    feature = max(features, key=lambda r: r["subdomains"])
    return (
        Finding(
            percent(single),
            f"of {provider_name(leader)}-hosted subdomains live in a single region.",
            "region-counts",
        ),
        Finding(
            percent(best["subdomains_share"]),
            f"of {provider_name(best['provider'])}-hosted subdomains use {best['region']}; "
            f"{best['only_here']:,} of them have no other region to fall back on.",
            "regions",
        ),
        Finding(
            percent(feature["subdomains_share"]),
            f"of {provider_name(feature['provider'])}-hosted subdomains answer from "
            f"{FEATURE_NAMES[feature['feature']]}.",
            "patterns",
        ),
    )
