"""Regions of names and domains."""

from collections import Counter
from collections.abc import Iterator

from analysis.deployment import regions
from analysis.reporting.tables.marginal_note import (
    MEANING,
    MarginalNote,
    doubt,
    known_rows,
    most_spread,
    sampled_interval,
)
from analysis.reporting.tables.report_table import (
    Claim,
    ReportTable,
    Rows,
    Tables,
    hosted,
    largest,
    provider_totals,
    rows_of,
    totals_of,
)
from core.wording import Portion, provider_name

_NO_REGION = "No front end is in a region of a known cloud"


def best_region(tables: Tables) -> Claim | None:
    """Return the share of the region with the most subdomains; None without any region."""
    best = largest(rows_of(tables, "regions"))
    if best is None:
        return None
    portion = hosted(best["subdomains"], tables, best["provider"])
    alone = f"{best['only_here']:,} of them {'has' if best['only_here'] == 1 else 'have'}"
    return Claim(
        portion,
        f"is in {best['region']}",
        f"are in {best['region']}",
        f"{alone} no other region to fall back on." if best["subdomains"] > 1 else "",
    )


def _leading_in_regions(tables: Tables) -> str | None:
    """The provider with the most names that have a region."""
    sizes: Counter[str] = Counter()
    for row in rows_of(tables, "region-counts"):
        sizes[row["provider"]] += row["subdomains"]
    return max(sizes, key=lambda p: sizes[p]) if sizes else None


def single_region(tables: Tables) -> Claim | None:
    """Return the share of subdomains in one region, of the provider with the most; None without
    any."""
    leader = _leading_in_regions(tables)
    if leader is None:
        return None
    own = [r for r in rows_of(tables, "region-counts") if r["provider"] == leader]
    part = sum(r["subdomains"] for r in own if r["regions"] == 1)
    portion = hosted(part, tables, leader, sum(r["subdomains"] for r in own))
    return Claim(portion, "is in a single region", "are in a single region")


def _regions(tables: Tables) -> str:
    claim = best_region(tables)
    return claim.sentence() if claim else _NO_REGION


def _region_counts(tables: Tables) -> str:
    claim = single_region(tables)
    return claim.sentence() if claim else _NO_REGION


def _region_means(tables: Tables) -> str:
    leader = _leading_in_regions(tables)
    if leader is None:
        return _NO_REGION
    own = [r for r in rows_of(tables, "domain-region-means") if r["provider"] == leader]
    part = sum(r["domains"] for r in own if r["mean_at_most"] == 1)
    name = provider_name(leader)
    portion = Portion(
        part, sum(r["domains"] for r in own), f"domain on {name}", f"domains on {name}"
    )
    return portion.sentence(
        "keeps every subdomain in one region", "keep every subdomain in one region"
    )


def _check_regions(rows: Rows) -> Iterator[str]:
    """Uses of regions must equal names times the mean number of regions."""
    totals = totals_of(rows)
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


def _only_region(tables: Tables) -> MarginalNote | None:
    best = largest(known_rows(tables, "regions"))
    if best is None or "providers" not in tables:
        return None
    claim = hosted(best["only_here"], tables, best["provider"]).sentence(
        "has no other region", "have no other region"
    )
    return MarginalNote(
        MEANING, f"{claim} than {best['region']}: nothing else answers when it fails.", "outages"
    )


def _wide_regions(tables: Tables) -> MarginalNote | None:
    rows = known_rows(tables, "top-regions")
    return most_spread(rows, ("k2", "k3_or_more"), "cloud_subdomains", "regions")


def _regions_doubt(tables: Tables) -> MarginalNote | None:
    counts = known_rows(tables, "region-counts")
    if not counts or "providers" not in tables:
        return None
    totals = provider_totals(tables)
    leader = max(
        {r["provider"] for r in counts},
        key=lambda p: sum(r["subdomains"] for r in counts if r["provider"] == p),
    )
    placed = sum(r["subdomains"] for r in counts if r["provider"] == leader)
    missing = hosted(max(totals.get(leader, 0) - placed, 0), tables, leader).sentence(
        "has no region", "have no region"
    )
    means = [r for r in known_rows(tables, "domain-region-means") if r["provider"] == leader]
    one = sum(r["domains"] for r in means if r["mean_at_most"] == 1)
    return doubt(
        f"{missing} (a CDN, or an address of no known region)."
        if placed < totals.get(leader, 0)
        else "",
        sampled_interval(
            one,
            sum(r["domains"] for r in means),
            f"on {provider_name(leader)} keep every subdomain in one region",
        ),
    )


TABLES = (
    ReportTable(
        "regions",
        regions.regions,
        _regions,
        "A name counts once in each of its regions. CDN addresses are left out, since an edge "
        "does not show where the origin is hosted. Some domains use several regions, so the "
        "domains add up to more than their number. “Only here” counts names with no other region "
        "in any cloud. The source calls Ireland Azure's eu-west and the Netherlands its eu-north. "
        "Azure's own names are the other way round. The places decide here.",
        checks=(_check_regions,),
        notes=(
            _only_region,
            _wide_regions,
            _regions_doubt,
        ),
    ),
    ReportTable(
        "region-counts",
        regions.region_counts,
        _region_counts,
        "Regions of one provider per name, without CDN. Names without a region are not in n. The "
        "mean of the published curve agrees with its region table (1.06 on EC2, 1.26 on Azure).",
        distribution=("provider", "subdomains"),
    ),
    ReportTable(
        "domain-region-means",
        regions.region_means,
        _region_means,
        "The unweighted mean over the names of a domain that have a region of the provider. A "
        "domain is in the first class whose upper edge is not below its mean.",
        distribution=("provider", "domains"),
    ),
)
