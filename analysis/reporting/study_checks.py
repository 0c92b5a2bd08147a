"""Consistency checks of zones, sharing, customers, outages and single figures.

Like those of ``analysis.reporting.checks``, which runs them: rows by table in, complaints out.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from core.report_tables import TOP_EC2_DOMAINS, share

Row = dict[str, Any]
Rows = Mapping[str, list[Row]]
# Shares are rounded to six decimals.
_TOLERANCE = 2e-6
_UNKNOWN = "unknown"
# table: (column of the part, column of its share)
_SHARES = {
    "name-server-operators": ("only_here", "only_here_share", "subdomains"),
    "customers": ("other_country", "other_country_share", "known"),
    "customer-countries": ("other_country", "other_country_share", "subdomains"),
    "text-figures": ("part", "share", "whole"),
}


def same_share(one: float | None, other: float | None, tolerance: float) -> bool:
    """Return whether two shares are equal but for rounding; an unknown one equals only an unknown
    one."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= tolerance


def _check_zones(rows: Rows) -> Iterator[str]:
    """A region's names lie between its fullest zone and the sum over its zones."""
    regions = {(r["provider"], r["region"]): r for r in rows["regions"]}
    fullest: Counter[tuple[str, str]] = Counter()
    summed: Counter[tuple[str, str]] = Counter()
    for row in rows["zone-usage"]:
        key = (row["provider"], row["region"])
        fullest[key] = max(fullest[key], row["subdomains"])
        summed[key] += row["subdomains"]
        if row["zone"] != _UNKNOWN and row["only_here"] > row["subdomains"]:
            yield f"zone-usage: more names only in {row['region']} {row['zone']} than names there"
    for key in summed:
        names = regions[key]["subdomains"] if key in regions else 0
        if not fullest[key] <= names <= summed[key]:
            span = f"{fullest[key]} to {summed[key]}"
            yield f"zone-usage: {key[1]} has {names} names, its zones {span}"


def _check_zone_uses(rows: Rows) -> Iterator[str]:
    """Uses of zones must equal names times the mean number of zones (Table 12, Figure 13a)."""
    uses: Counter[str] = Counter()
    for row in rows["zone-usage"]:
        uses[row["provider"]] += row["subdomains"] * (row["zone"] != _UNKNOWN)
    counted: Counter[str] = Counter()
    for row in rows["zone-counts"]:
        counted[row["provider"]] += row["zones"] * row["subdomains"]
    for provider in sorted({*uses, *counted}):
        if uses[provider] != counted[provider]:
            got = counted[provider]
            yield f"zone-usage: {provider} has {uses[provider]} zone uses, but {got} by name"


def _check_top_zones(rows: Rows) -> Iterator[str]:
    top = rows["top-zones"]
    keys = ("rank", "domain", "aws_subdomains")
    if [[r[k] for k in keys] for r in top] != [[r[k] for k in keys] for r in rows["top-domains"]]:
        yield "top-zones: not the same domains and names as top-domains"
    if len(top) > TOP_EC2_DOMAINS:
        yield f"top-zones: more than {TOP_EC2_DOMAINS} domains"
    for row in top:
        if row["z0"] + row["z1"] + row["z2"] + row["z3_or_more"] != row["aws_subdomains"]:
            yield f"top-zones: the names of {row['domain']} do not add up"


def _check_sharing(rows: Rows) -> Iterator[str]:
    """Table 8's load balancers and section 4.4.1's name servers, each in one class."""
    balancers = sum(r["elb_ips"] for r in rows["elb-sharing"])
    known = sum(r["instances"] for r in rows["patterns"] if r["feature"] == "elb")
    if balancers != known:
        yield f"elb-sharing: {balancers} addresses, not the {known} of the patterns"
    servers = sum(r["name_servers"] for r in rows["name-server-sharing"])
    total = sum(r["name_servers"] for r in rows["name-servers"] if r["location"] == "total")
    if servers != total:
        yield f"name-server-sharing: {servers} name servers, not all {total}"
    for table_id in ("elb-sharing", "name-server-sharing"):
        if rows[table_id] and abs(rows[table_id][-1]["cumulative_share"] - 1) > _TOLERANCE:
            yield f"{table_id}: the cumulative share does not end at 1"


def _check_operators(rows: Rows) -> Iterator[str]:
    everyone = sum(r["subdomains"] for r in rows["name-server-counts"])
    alone = sum(r["only_here"] for r in rows["name-server-operators"])
    if alone > everyone:
        yield f"name-server-operators: {alone} names on one operator alone, of {everyone}"
    for row in rows["name-server-operators"]:
        if row["only_here"] > row["subdomains"] or row["subdomains"] > everyone:
            yield f"name-server-operators: more names with {row['operator']} than there are"


def _check_customers(rows: Rows) -> Iterator[str]:
    """Check that bases add up, and that names on another continent are in another country."""
    for column in ("known", "other_country", "other_continent"):
        for reading in {r["reading"] for r in rows["customers"]}:
            own = {r["basis"]: r[column] for r in rows["customers"] if r["reading"] == reading}
            if own.pop("all") != sum(own.values()):
                yield f"customers: {column} of the bases does not sum to all ({reading})"
    for table_id in ("customers", "customer-countries"):
        for row in rows[table_id]:
            whole = row.get("known", row["subdomains"])
            if not row["other_continent"] <= row["other_country"] <= whole:
                yield f"{table_id}: more names on another continent than in another country"


def _check_outages(rows: Rows) -> Iterator[str]:
    """Check that users of a region or zone are affected by its outage; others lose name servers."""
    names = {
        **{("region", r["provider"], r["region"]): r["subdomains"] for r in rows["regions"]},
        **{
            ("provider", r["class"].split(" ")[0], r["class"].split(" ")[0]): r["subdomains"]
            for r in rows["providers"]
            if r["class"].endswith(" total")
        },
    }
    for row in rows["outages"]:
        hit = row["down"] + row["part"]
        users = names.get((row["kind"], row["provider"], row["target"]))
        if users is not None and not users <= hit <= users + row["by_name_servers"]:
            yield f"outages: {hit} names are hit by {row['target']}, which {users} use"
        if not row["by_name_servers"] <= row["down"] <= row["down_at_most"]:
            yield f"outages: the names that go down with {row['target']} do not add up"


def _check_outage_domains(rows: Rows) -> Iterator[str]:
    """The same causes in the same order, and no more domains than there are."""
    keys = ("kind", "provider", "target")
    if [[r[k] for k in keys] for r in rows["outages"]] != [
        [r[k] for k in keys] for r in rows["outage-domains"]
    ]:
        yield "outage-domains: not the causes of outages"
    most = next((r["domains"] for r in rows["providers"] if r["class"] == "total"), 0)
    for row in rows["outage-domains"]:
        if row["down"] + row["part"] > most:
            yield f"outage-domains: more domains are hit by {row['target']} than all {most}"
        if not row["down"] <= row["down_cloud_only"] <= row["down"] + row["part"]:
            yield f"outage-domains: the domains that go down with {row['target']} do not add up"


def _check_dangling(rows: Rows) -> Iterator[str]:
    """The list holds no more names of a rule than are counted, and no count is empty."""
    listed: dict[str, set[str]] = {}
    for row in rows["dangling-names"]:
        listed.setdefault(row["rule"], set()).add(row["name"])
    counted = {row["rule"]: row["subdomains"] for row in rows["dangling"]}
    for rule, names in listed.items():
        if len(names) > counted.get(rule, 0):
            yield f"dangling-names: more names with {rule} than are counted"
    for row in rows["dangling"]:
        if not 0 < row["subdomains_share"] <= 1 or not row["targets"] or not row["domains"]:
            yield f"dangling: the figures of {row['rule']} do not add up"


def _check_parts(rows: Rows) -> Iterator[str]:
    for table_id, (part, column, whole) in _SHARES.items():
        for row in rows[table_id]:
            is_share = same_share(row[column], share(row[part], row[whole]), _TOLERANCE)
            if row[part] > row[whole] or not is_share:
                yield f"{table_id}: {row[column]} is not the share of {row[part]} in {row[whole]}"


STUDY_CHECKS: tuple[Callable[[Rows], Iterator[str]], ...] = (
    _check_zones,
    _check_zone_uses,
    _check_top_zones,
    _check_sharing,
    _check_operators,
    _check_customers,
    _check_outages,
    _check_outage_domains,
    _check_dangling,
    _check_parts,
)
