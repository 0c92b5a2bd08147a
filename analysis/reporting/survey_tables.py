"""The deployment study: every table from one campaign's parts, as set operations."""

from collections.abc import Iterable
from pathlib import Path

from analysis.deployment import (
    customers,
    dangling,
    name_servers,
    patterns,
    providers,
    regions,
    sharing,
    top_domains,
    zones,
)
from analysis.deployment.address_places import create_location_tables
from analysis.deployment.cloud_names import Connection, open_names
from analysis.outages import outages
from analysis.reporting import paper_figures
from core.report_tables import SPECS, Table

_BUILDERS = (
    providers.providers,
    patterns.patterns,
    regions.regions,
    regions.region_counts,
    regions.region_means,
    patterns.instance_counts,
    name_servers.name_servers,
    name_servers.name_server_counts,
    top_domains.top_domains,
    top_domains.top_features,
    top_domains.top_regions,
    zones.zones,
    zones.zone_counts,
    zones.zone_means,
    zones.top_zones,
    sharing.elb_sharing,
    sharing.name_server_sharing,
    sharing.name_server_operators,
    customers.customers,
    customers.customer_countries,
    outages.outages,
    outages.outage_domains,
    dangling.dangling,
    dangling.dangling_names,
    paper_figures.text_figures,
)


def compute_tables(
    root: Path, survey: str, shards: Iterable[str] | None = None, memory_mb: int = 1024
) -> dict[str, Table]:
    """All tables by id, in the order of ``core.report_tables.SPECS``; an empty survey gives empty
    ones.
    """
    with open_study(root, survey, shards, memory_mb) as connection:
        return build_tables(connection)


def build_tables(connection: Connection) -> dict[str, Table]:
    """Compute all tables on a connection prepared by ``prepare_study``."""
    tables = {table.id: table for table in (build(connection) for build in _BUILDERS)}
    return {spec.id: tables[spec.id] for spec in SPECS}


def open_study(
    root: Path,
    survey: str,
    shards: Iterable[str] | None = None,
    memory_mb: int = 1024,
    only: Iterable[str] | None = None,
) -> Connection:
    """A connection with the tables of ``analysis.deployment.cloud_names`` and those that the study
    adds.

    ``only`` limits what was found to these domains.
    """
    connection = open_names(root, survey, shards, memory_mb, only)
    prepare_study(connection)
    return connection


def prepare_study(connection: Connection) -> None:
    """Add what the study's tables need to the tables of
    ``analysis.deployment.cloud_names.find_uses``.
    """
    create_location_tables(connection)
    sharing.derive_operators(connection)
    customers.locate_customers(connection)
    outages.compute_outages(connection)
