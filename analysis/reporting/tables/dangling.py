"""Aliases with a missing target."""

from collections.abc import Iterator

from analysis.deployment import dangling
from analysis.reporting.tables.marginal_note import (
    EXCEPTION,
    MEANING,
    MarginalNote,
    doubt,
    known_rows,
)
from analysis.reporting.tables.report_table import ReportTable, Rows, Tables, rows_of
from core.report_tables import TOP_DANGLING
from core.wording import Portion, number


def _dangling(tables: Tables) -> str:
    rows = rows_of(tables, "dangling")
    if not rows:
        return "No alias leads to a provider’s name that does not exist"
    names, free = (
        tables["dangling"].n,
        sum(r["subdomains"] for r in rows if r["claimable"] == "yes"),
    )
    lead = "1 name has an alias" if names == 1 else f"{names:,} names have an alias"
    claimed = f"{min(free, names):,} of them could be taken over by anyone"
    return f"{lead} whose target does not exist; {claimed}"


def _dangling_names(tables: Tables) -> str:
    domains = {r["domain"] for r in rows_of(tables, "dangling-names")}
    if not domains:
        return "No domain has an alias whose target does not exist"
    more = "at least " if tables["dangling-names"].n > TOP_DANGLING else ""
    owner_text = "one domain" if len(domains) == 1 else f"{more}{len(domains):,} domains"
    return f"Aliases whose target does not exist are in {owner_text}"


def _check_dangling(rows: Rows) -> Iterator[str]:
    """Check that no count is empty."""
    for row in rows["dangling"]:
        if not 0 < row["subdomains_share"] <= 1 or not row["targets"] or not row["domains"]:
            yield f"dangling: the figures of {row['rule']} do not add up"


def _check_dangling_names(rows: Rows) -> Iterator[str]:
    """Check that the list has no more names of a rule than are counted."""
    listed: dict[str, set[str]] = {}
    for row in rows["dangling-names"]:
        listed.setdefault(row["rule"], set()).add(row["name"])
    counted = {row["rule"]: row["subdomains"] for row in rows["dangling"]}
    for rule, names in listed.items():
        if len(names) > counted.get(rule, 0):
            yield f"dangling-names: more names with {rule} than are counted"


def _claimable(tables: Tables) -> MarginalNote | None:
    rows = known_rows(tables, "dangling")
    free = sum(r["subdomains"] for r in rows if r["claimable"] == "yes")
    if not rows or not free:
        return None
    claim = Portion(
        min(free, tables["dangling"].n), tables["dangling"].n, "dangling name", "dangling names"
    ).sentence("has a target that anyone may register", "have a target that anyone may register")
    return MarginalNote(MEANING, f"{claim}: who does answers for these names.")


def _most_dangling(tables: Tables) -> MarginalNote | None:
    names: dict[str, set[str]] = {}
    for row in known_rows(tables, "dangling-names"):
        names.setdefault(row["domain"], set()).add(row["name"])
    domain = max(names, key=lambda d: len(names[d]), default="")
    rest = [len(found) for other, found in names.items() if other != domain]
    if not rest or len(names[domain]) <= max(rest):
        return None
    have = number(len(names[domain]), "dangling name")
    more = tables["dangling-names"].n > len(set().union(*names.values()))
    listed = " of those listed" if more else ""
    return MarginalNote(
        EXCEPTION, f"{domain} has {have}{listed}, the most of all domains.", domains=(domain,)
    )


def _dangling_doubt(tables: Tables) -> MarginalNote | None:
    rows = known_rows(tables, "dangling")
    if not rows:
        return None
    rules = number(len({r["rule"] for r in rows}), "rule")
    return doubt(
        f"Found by {rules} on the names of missing targets; nothing was registered to try. "
        "Providers that answer for missing names are not seen: the counts are lower bounds."
    )


TABLES = (
    ReportTable(
        "dangling",
        dangling.dangling,
        _dangling,
        "The alias of such a name leads to a name of a provider that the provider's own servers "
        "deny (NXDOMAIN). The rule of the missing name shows the provider. “Can be claimed” "
        "follows from the naming that the provider documents, at the date of the rule. No name "
        "was registered to try it. Providers that answer for missing names (GitHub Pages, S3) are "
        "not seen, so the counts are lower bounds. Shares are of all dangling names; no published "
        "figure.",
        checks=(_check_dangling,),
        notes=(
            _claimable,
            _most_dangling,
            _dangling_doubt,
        ),
    ),
    ReportTable(
        "dangling-names",
        dangling.dangling_names,
        _dangling_names,
        "The dangling names. Those whose target can be claimed are first, then the best-ranked "
        "domains. The table has the first 200; the lake table fronts has all. No published figure.",
        checks=(_check_dangling_names,),
    ),
)
