"""The deployment study: every table from one campaign's parts, as set operations."""

from collections.abc import Iterable
from pathlib import Path

from analysis import (
    customers,
    features,
    name_servers,
    outages,
    providers,
    region_usage,
    sharing,
    text_figures,
    top_domains,
    zone_usage,
)
from analysis.names import Connection, open_names
from analysis.standing import number_names
from core.tables import SPECS, Table

_MAKERS = (
    providers.providers,
    features.patterns,
    region_usage.regions,
    region_usage.region_counts,
    region_usage.region_means,
    features.instance_counts,
    name_servers.name_servers,
    name_servers.name_server_counts,
    top_domains.top_domains,
    top_domains.top_features,
    top_domains.top_regions,
    zone_usage.zones,
    zone_usage.zone_counts,
    zone_usage.zone_means,
    zone_usage.top_zones,
    sharing.elb_sharing,
    sharing.name_server_sharing,
    sharing.name_server_operators,
    customers.customers,
    customers.customer_countries,
    outages.outages,
    outages.outage_domains,
    text_figures.text_figures,
)


def compute_tables(
    root: Path, campaign: str, shards: Iterable[str] | None = None, memory_mb: int = 1024
) -> dict[str, Table]:
    """All tables by id, in the order of ``core.tables.SPECS``; an empty survey gives empty ones."""
    connection = open_study(root, campaign, shards, memory_mb)
    try:
        made = {table.id: table for table in (make(connection) for make in _MAKERS)}
    finally:
        connection.close()
    return {spec.id: made[spec.id] for spec in SPECS}


def open_study(
    root: Path, campaign: str, shards: Iterable[str] | None = None, memory_mb: int = 1024
) -> Connection:
    """A connection with the views of ``analysis.names`` and the tables that the study adds."""
    connection = open_names(root, campaign, shards, memory_mb)
    number_names(connection)
    sharing.name_operators(connection)
    customers.locate_customers(connection)
    outages.imagine_outages(connection)
    return connection
