"""Use of clouds and other hosting."""

from collections.abc import Iterator

from analysis.deployment import providers
from analysis.reporting.tables.marginal_note import (
    EXCEPTION,
    MEANING,
    MarginalNote,
    doubt,
    known_rows,
    sampled_interval,
    subdomains,
)
from analysis.reporting.tables.report_table import (
    TOLERANCE,
    Claim,
    ReportTable,
    Rows,
    Tables,
    provider_totals,
    same_share,
    totals_of,
)
from core.report_tables import share
from core.wording import Portion, provider_name


def leading_provider(tables: Tables) -> Claim:
    """Return the share of the provider with the most subdomains."""
    totals = provider_totals(tables)
    whole = totals.pop("")
    leader = max(totals, key=lambda p: totals[p])
    portion = Portion(totals[leader], whole, "cloud-using subdomain", "cloud-using subdomains")
    return Claim(portion, f"uses {provider_name(leader)}", f"use {provider_name(leader)}")


def _providers(tables: Tables) -> str:
    claim = leading_provider(tables)
    portion = claim.portion
    if portion.is_small or portion.part == portion.whole:
        return claim.sentence()
    return f"{portion.value} of {portion.whole:,} {portion.many} {claim.plural}"


def _providers_in(name: str) -> set[str]:
    return set(name.removesuffix(" only").removesuffix(" + other").split(" + "))


def _check_providers(rows: Rows) -> Iterator[str]:
    totals = totals_of(rows)
    classes = [r for r in rows["providers"] if not r["class"].endswith("total")]
    for provider, total in totals.items():
        own = [r for r in classes if not provider or provider in _providers_in(r["class"])]
        for column in ("domains", "subdomains", "domains_cloud_only"):
            got = sum(r[column] for r in own)
            if got != total[column]:
                who = f"{provider} classes" if provider else "all classes"
                yield f"providers: the {column} of {who} sum to {got}, not {total[column]}"


def _check_shares(rows: Rows) -> Iterator[str]:
    total = totals_of(rows)[""]
    for row in rows["providers"]:
        for column in ("domains", "subdomains", "domains_cloud_only"):
            whole = share(row[column], total[column])
            if not same_share(row[f"{column}_share"], whole, TOLERANCE):
                yield f"providers: the {column}_share of {row['class']} is not its share of total"


def _one_cloud(tables: Tables) -> MarginalNote | None:
    rows = [r for r in known_rows(tables, "providers") if not r["class"].endswith("total")]
    whole = sum(r["subdomains"] for r in rows)
    if not whole:
        return None
    alone = [r for r in rows if r["class"].endswith(" only") and "+" not in r["class"]]
    claim = subdomains(sum(r["subdomains"] for r in alone), whole).sentence(
        "is at one provider only", "are at one provider only"
    )
    return MarginalNote(MEANING, f"{claim}: nothing else answers when it fails.", "outages")


def _mixed_hosting(tables: Tables) -> MarginalNote | None:
    rows = [r for r in known_rows(tables, "providers") if not r["class"].endswith("total")]
    part = sum(r["subdomains"] for r in rows if r["class"].endswith("+ other"))
    whole = sum(r["subdomains"] for r in rows)
    if not part:
        return None
    here = subdomains(part, whole).sentence(
        "also answers from hosting outside the clouds",
        "also answer from hosting outside the clouds",
    )
    return MarginalNote(EXCEPTION, f"{here}.")


def _providers_doubt(tables: Tables) -> MarginalNote | None:
    totals = {
        r["class"].removesuffix("total").strip(): r["domains"]
        for r in known_rows(tables, "providers")
        if r["class"].endswith("total")
    }
    whole = totals.pop("", 0)
    if not totals or not whole:
        return None
    leader = max(totals, key=lambda p: totals[p])
    return doubt(sampled_interval(totals[leader], whole, f"use {provider_name(leader)}"))


TABLES = (
    ReportTable(
        "providers",
        providers.providers,
        _providers,
        "A name is “only” in a cloud when all its addresses are; two clouds outrank “other”. "
        "Domains are counted in two ways: over all names found in the domain (as published) and "
        "over its cloud-using names only. By the second, the authors' own material has 36,173 "
        "domains on EC2 only; 3,277 are published. It has 1,825 on EC2 and elsewhere; 34,721 are "
        "published. The published share of Azure + Other subdomains, “<0.01 %”, computes to 0.03 "
        "%.",
        checks=(
            _check_providers,
            _check_shares,
        ),
        notes=(
            _one_cloud,
            _mixed_hosting,
            _providers_doubt,
        ),
    ),
)
