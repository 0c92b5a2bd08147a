"""Each table's own consistency check; runs on every report.

The rules are those by which the published tables can be checked too: classes sum to totals,
region uses equal names times their mean number of regions, cumulative shares end at one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from analysis.reporting.study_checks import STUDY_CHECKS, same_share
from core.report_tables import SPECS, TOP_CLOUD_DOMAINS, TOP_EC2_DOMAINS, Table, share

Row = dict[str, Any]
Rows = Mapping[str, list[Row]]
# Shares are rounded to six decimals, and some checks add several of them.
_TOLERANCE = 2e-5
_SUMMED = ("providers", "name-servers")
# Distributions of the names or domains that the table ``providers`` counts: only its columns can be
# the count, since populations are compared with its totals. Other curves have separate checks.
_PROVIDER_DISTRIBUTIONS = {
    # table: (column of the group, column of the count)
    "region-counts": ("provider", "subdomains"),
    "domain-region-means": ("provider", "domains"),
    "instance-counts": ("feature", "subdomains"),
    "name-server-counts": ("", "subdomains"),
    "zone-counts": ("provider", "subdomains"),
    "domain-zone-means": ("provider", "domains"),
}


def check_tables(tables: Mapping[str, Table]) -> list[str]:
    """What does not add up, as ``table: reason``; empty when all is consistent."""
    misshapen = list(_check_shapes(tables))
    if misshapen:
        return misshapen
    rows = {
        table_id: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        for table_id, table in tables.items()
    }
    return [complaint for check in _CHECKS for complaint in check(rows)]


def _check_shapes(tables: Mapping[str, Table]) -> Iterator[str]:
    for spec in SPECS:
        table = tables.get(spec.id)
        if table is None:
            yield f"{spec.id}: the table is missing"
        elif table.columns != spec.columns or any(len(r) != len(spec.columns) for r in table.rows):
            yield f"{spec.id}: the columns are not those agreed"
        elif spec.id in _SUMMED and (not table.rows or table.rows[-1][0] != "total"):
            yield f"{spec.id}: the total is missing"


def _totals(rows: Rows) -> Mapping[str, Row]:
    """The total row of each provider, and of all under the empty name; unknown ones are zero."""
    totals: defaultdict[str, Row] = defaultdict(Counter)
    for row in rows["providers"]:
        if row["class"].endswith("total"):
            totals[row["class"].removesuffix("total").strip()] = row
    return totals


def _providers_in(name: str) -> set[str]:
    return set(name.removesuffix(" only").removesuffix(" + other").split(" + "))


def _check_providers(rows: Rows) -> Iterator[str]:
    totals = _totals(rows)
    classes = [r for r in rows["providers"] if not r["class"].endswith("total")]
    for provider, total in totals.items():
        own = [r for r in classes if not provider or provider in _providers_in(r["class"])]
        for column in ("domains", "subdomains", "domains_cloud_only"):
            got = sum(r[column] for r in own)
            if got != total[column]:
                who = f"{provider} classes" if provider else "all classes"
                yield f"providers: the {column} of {who} sum to {got}, not {total[column]}"


def _check_shares(rows: Rows) -> Iterator[str]:
    total = _totals(rows)[""]
    for row in rows["providers"]:
        for column in ("domains", "subdomains", "domains_cloud_only"):
            whole = share(row[column], total[column])
            if not same_share(row[f"{column}_share"], whole, _TOLERANCE):
                yield f"providers: the {column}_share of {row['class']} is not its share of total"


def _check_patterns(rows: Rows) -> Iterator[str]:
    totals = _totals(rows)
    named: Counter[str] = Counter()
    for row in rows["patterns"]:
        whole = totals[row["provider"]]
        named[row["provider"]] += row["subdomains"]
        for column in ("domains", "subdomains"):
            if row[column] > whole[column]:
                yield (
                    f"patterns: {row[column]} {row['provider']} {column} with {row['feature']} "
                    f"are more than all {whole[column]}"
                )
        if row["instances"] == 0 and row["subdomains"]:
            yield f"patterns: {row['provider']} {row['feature']} has names but no instance"
    for provider, got in named.items():
        if got < totals[provider]["subdomains"]:
            yield f"patterns: labels and unclassified cover {got} {provider} names, not all"


def _check_regions(rows: Rows) -> Iterator[str]:
    """Uses of regions must equal names times the mean number of regions."""
    totals = _totals(rows)
    uses: Counter[str] = Counter()
    for row in rows["regions"]:
        uses[row["provider"]] += row["subdomains"]
        where = f"{row['provider']} {row['region']}"
        if row["subdomains"] > totals[row["provider"]]["subdomains"]:
            yield f"regions: more names in {where} than the provider has"
        if row["only_here"] > row["subdomains"]:
            yield f"regions: more names only in {where} than names there"
    counted: Counter[str] = Counter()
    for row in rows["region-counts"]:
        counted[row["provider"]] += row["regions"] * row["subdomains"]
    for provider in sorted({*uses, *counted}):
        if uses[provider] != counted[provider]:
            yield (
                f"regions: {provider} has {uses[provider]} region uses, but "
                f"{counted[provider]} by the counts per name"
            )


def _check_distributions(rows: Rows) -> Iterator[str]:
    for table_id, (group, column) in _PROVIDER_DISTRIBUTIONS.items():
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in rows[table_id]:
            groups[row[group] if group else "all"].append(row)
        for name, own in groups.items():
            yield from (f"{table_id}: {complaint}" for complaint in _check_curve(name, own, column))


def _check_curve(name: str, rows: list[Row], column: str) -> Iterator[str]:
    whole, running = sum(r[column] for r in rows), 0
    for row in rows:
        running += row[column]
        if not same_share(row["cumulative_share"], share(running, whole), _TOLERANCE):
            yield f"the cumulative share of {name} is {row['cumulative_share']} at {running}"
    end = rows[-1]["cumulative_share"]
    if whole and not same_share(end, 1, _TOLERANCE):
        yield f"the cumulative share of {name} ends at {end}, not 1"


def _check_populations(rows: Rows) -> Iterator[str]:
    """No distribution may hold more than the provider table knows."""
    totals = _totals(rows)
    for table_id, (group, column) in _PROVIDER_DISTRIBUTIONS.items():
        held: Counter[str] = Counter()
        for row in rows[table_id]:
            held[row[group] if group == "provider" else ""] += row[column]
        for provider, n in held.items():
            most = totals["aws" if group == "feature" else provider][column]
            # A name has one label of a feature, but may have both features.
            if n > most * (2 if group == "feature" else 1):
                yield f"{table_id}: {n} {column} of {provider or 'all'} are more than all {most}"


def _check_instances(rows: Rows) -> Iterator[str]:
    """The names of Figure 10 are those of Table 8, and no instance is without a name."""
    for feature in ("vm", "elb"):
        own = [r for r in rows["instance-counts"] if r["feature"] == feature]
        names = sum(r["subdomains"] for r in own)
        uses = sum(r["instances"] * r["subdomains"] for r in own)
        for row in rows["patterns"]:
            if (row["provider"], row["feature"]) != ("aws", feature):
                continue
            if names != row["subdomains"]:
                yield f"instance-counts: {names} names with {feature}, not {row['subdomains']}"
            if uses < row["instances"]:
                yield f"instance-counts: {uses} uses of {row['instances']} {feature} instances"


def _check_servers(rows: Rows) -> Iterator[str]:
    *places, total = rows["name-servers"]
    got = sum(r["name_servers"] for r in places)
    if got != total["name_servers"]:
        yield f"name-servers: places sum to {got}, not {total['name_servers']}"


def _check_top_domains(rows: Rows) -> Iterator[str]:
    top, features = rows["top-domains"], rows["top-features"]
    for table_id, limit in (
        ("top-domains", TOP_EC2_DOMAINS),
        ("top-features", TOP_EC2_DOMAINS),
        ("top-regions", TOP_CLOUD_DOMAINS),
    ):
        order = [(r["rank"], r["domain"]) for r in rows[table_id]]
        if order != sorted(order) or len(order) > limit:
            yield f"{table_id}: not the {limit} best-ranked domains in order"
    keys = ("rank", "domain", "aws_subdomains")
    if [[r[k] for k in keys] for r in top] != [[r[k] for k in keys] for r in features]:
        yield "top-features: not the same domains and names as top-domains"
    for row in top:
        if row["aws_subdomains"] > row["subdomains"]:
            yield f"top-domains: {row['domain']} has more names on AWS than names"


def _check_top_rows(rows: Rows) -> Iterator[str]:
    for row in rows["top-features"]:
        if any(row[k] > row["aws_subdomains"] for k in ("vm", "paas", "elb", "cdn")):
            yield f"top-features: {row['domain']} has a feature on more names than it has"
        if (row["elb"] > 0) != (row["elb_ips"] > 0):
            yield f"top-features: {row['domain']} has load balancers without addresses"
    for row in rows["top-regions"]:
        placed = row["k1"] + row["k2"] + row["k3_or_more"]
        if placed > row["cloud_subdomains"] or (placed > 0) != (row["regions"] > 0):
            yield f"top-regions: the names of {row['domain']} do not add up"


_CHECKS: tuple[Callable[[Rows], Iterator[str]], ...] = (
    _check_providers,
    _check_shares,
    _check_patterns,
    _check_regions,
    _check_distributions,
    _check_populations,
    _check_instances,
    _check_servers,
    _check_top_domains,
    _check_top_rows,
    *STUDY_CHECKS,
)
