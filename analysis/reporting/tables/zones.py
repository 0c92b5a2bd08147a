"""Availability zones of names and domains."""

from collections import Counter
from collections.abc import Iterator

from analysis.deployment import zones
from analysis.reporting.tables.marginal_note import (
    MEANING,
    MarginalNote,
    doubt,
    known_rows,
    most_spread,
)
from analysis.reporting.tables.report_table import (
    UNKNOWN,
    ReportTable,
    Row,
    Rows,
    Tables,
    clouded,
    rows_of,
)
from core.report_tables import TOP_EC2_DOMAINS
from core.wording import Portion

_NO_ZONE = "No address has an identified availability zone"


def _zones(tables: Tables) -> str:
    rows = [r for r in rows_of(tables, "zone-usage") if r["zone"] != UNKNOWN]
    if not rows:
        return _NO_ZONE
    best = max(rows, key=lambda r: r["subdomains"])
    place = f"zone {best['zone']} of {best['region']}"
    lead = clouded(best["subdomains"], tables).sentence(f"uses {place}", f"use {place}")
    return f"{lead}; {best['only_here']:,} {'has' if best['only_here'] == 1 else 'have'} no other"


def _zone_counts(tables: Tables) -> str:
    rows = rows_of(tables, "zone-counts")
    found = _in_one_zone(rows, "zones", "subdomain")
    return found.sentence("uses one zone only", "use one zone only") if rows else _NO_ZONE


def _zone_means(tables: Tables) -> str:
    rows = rows_of(tables, "domain-zone-means")
    found = _in_one_zone(rows, "mean_at_most", "domain")
    every = "every subdomain in one zone"
    return found.sentence(f"keeps {every}", f"keep {every}") if rows else _NO_ZONE


def _in_one_zone(rows: list[Row], zones: str, counted: str) -> Portion:
    """Return names with one zone among all with an identified zone."""
    whole = sum(r[f"{counted}s"] for r in rows)
    part = sum(r[f"{counted}s"] for r in rows if r[zones] == 1)
    known = "with an identified zone"
    return Portion(part, whole, f"{counted} {known}", f"{counted}s {known}")


def _top_zones(tables: Tables) -> str:
    rows = rows_of(tables, "top-zones")
    if not rows:
        return "None of these domains uses Amazon"
    if all(r["zones"] == 0 for r in rows):
        return _NO_ZONE
    part = sum(r["z1"] > 0 for r in rows)
    portion = Portion(part, len(rows), "domain on Amazon", "best-ranked domains on Amazon")
    return portion.sentence("has a subdomain in one zone only", "have a subdomain in one zone only")


def _check_zones(rows: Rows) -> Iterator[str]:
    """A region's names lie between its fullest zone and the sum over its zones."""
    regions = {(r["provider"], r["region"]): r for r in rows["regions"]}
    fullest: Counter[tuple[str, str]] = Counter()
    summed: Counter[tuple[str, str]] = Counter()
    for row in rows["zone-usage"]:
        key = (row["provider"], row["region"])
        fullest[key] = max(fullest[key], row["subdomains"])
        summed[key] += row["subdomains"]
        if row["zone"] != UNKNOWN and row["only_here"] > row["subdomains"]:
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
        uses[row["provider"]] += row["subdomains"] * (row["zone"] != UNKNOWN)
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


def _one_zone(tables: Tables) -> MarginalNote | None:
    rows = known_rows(tables, "zone-counts")
    whole = sum(r["subdomains"] for r in rows)
    if not whole:
        return None
    part = sum(r["subdomains"] for r in rows if r["zones"] == 1)
    claim = Portion(
        part, whole, "subdomain with an identified zone", "subdomains with an identified zone"
    ).sentence("has one zone", "have one zone")
    return MarginalNote(MEANING, f"{claim}: nothing else answers when it fails.", "outages")


def _wide_zones(tables: Tables) -> MarginalNote | None:
    return most_spread(
        known_rows(tables, "top-zones"), ("z2", "z3_or_more"), "aws_subdomains", "zones"
    )


def _zones_doubt(tables: Tables) -> MarginalNote | None:
    rows = known_rows(tables, "zone-usage")
    known = sum(r["subdomains"] or 0 for r in rows if r["zone"] != UNKNOWN)
    unknown = sum(r["subdomains"] or 0 for r in rows if r["zone"] == UNKNOWN)
    if not unknown:
        return None
    uses = Portion(unknown, known + unknown, "use of a region", "uses of zones").sentence(
        "is of an unknown zone", "are of an unknown zone"
    )
    return doubt(f"{uses}. They are counted apart, never guessed.")


TABLES = (
    ReportTable(
        "zone-usage",
        zones.zones,
        _zones,
        "A name counts once in each of its availability zones. The survey knows zones only from "
        "imported evidence. All other addresses are in the rows “unknown”; no zone is guessed. "
        "“Only here” counts names with no other zone and no address of unknown zone. Published "
        "counts are in thousands. The text says that 16.1 % of subdomains depend on us-east-1a "
        "alone. That is an error: it repeats the 16.1 thousand domains of the table. “Only here” "
        "and the outage tables show what the observations give.",
        checks=(
            _check_zones,
            _check_zone_uses,
        ),
        notes=(
            _one_zone,
            _wide_zones,
            _zones_doubt,
        ),
    ),
    ReportTable(
        "zone-counts",
        zones.zone_counts,
        _zone_counts,
        "Identified zones of one provider per name, over all its regions. Names without one are "
        "not in n. The published curve starts at 33.2 % for one zone and has the mean 1.95. That "
        "mean times the names with a zone gives the 1,290.0 thousand uses of Table 12.",
        distribution=("provider", "subdomains"),
    ),
    ReportTable(
        "domain-zone-means",
        zones.zone_means,
        _zone_means,
        "The unweighted mean over a domain's names with an identified zone, in classes by their "
        "upper edge. The published text says that 12 % of domains use two or more zones per name. "
        "The plot shows 12 % above two, and some 23 % at two or more.",
        distribution=("provider", "domains"),
    ),
    ReportTable(
        "top-zones",
        zones.top_zones,
        _top_zones,
        "Zones of the ten best-ranked domains on EC2. The table has the distinct zones of all "
        "their names, and how many names use one, two or more. Names without an identified zone "
        "are counted apart.",
        checks=(_check_top_zones,),
    ),
)
