"""Findings in one sentence, with the number in it."""

from analysis.reporting.registry import TABLE_BY_ID
from analysis.reporting.tables.name_servers import servers_outside
from analysis.reporting.tables.patterns import best_feature
from analysis.reporting.tables.providers import leading_provider
from analysis.reporting.tables.regions import best_region, single_region
from analysis.reporting.tables.report_table import Finding, Tables, total_of
from core.wording import number


def headline(table_id: str, tables: Tables, n_domains: int | None = None) -> str:
    """Return the headline of one table, also when there is nothing to report.

    ``n_domains`` is how many domains were queried, where that is known.
    """
    stands_alone = table_id.startswith("dangling") and tables[table_id].rows
    if not total_of(tables) and not stands_alone:
        return _nothing(n_domains)
    return TABLE_BY_ID[table_id].headline(tables)


def front_findings(tables: Tables) -> tuple[Finding, ...]:
    """Return the three findings of the start page; none where no name uses a cloud.

    Where all names stand behind a CDN there is no region to speak of, so others step in.
    """
    if not total_of(tables):
        return ()
    claims = (
        ("region-counts", single_region(tables)),
        ("regions", best_region(tables)),
        ("patterns", best_feature(tables)),
        ("providers", leading_provider(tables)),
        ("name-servers", servers_outside(tables)),
    )
    found = [claim.finding(table_id) for table_id, claim in claims if claim]
    return tuple(found[:3])


def _nothing(n_domains: int | None) -> str:
    if n_domains == 0:
        return "No domain was surveyed"
    if n_domains == 1:
        return "No cloud-using subdomain was found in the only domain asked"
    among = "these domains" if n_domains is None else number(n_domains, "domain")
    return f"No cloud-using subdomain was found among {among}"
