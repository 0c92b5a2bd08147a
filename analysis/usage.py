"""The deployment study: every table from one campaign's parts, as set operations."""

from collections.abc import Iterable
from pathlib import Path

from analysis import (
    customers,
    dangling,
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
    dangling.dangling,
    dangling.dangling_names,
    text_figures.text_figures,
)


def compute_tables(
    root: Path, campaign: str, shards: Iterable[str] | None = None, memory_mb: int = 1024
) -> dict[str, Table]:
    """All tables by id, in the order of ``core.tables.SPECS``; an empty survey gives empty ones."""
    with open_study(root, campaign, shards, memory_mb) as connection:
        return make_tables(connection)


def make_tables(connection: Connection) -> dict[str, Table]:
    """The same from a connection that ``prepare_study`` has made ready."""
    made = {table.id: table for table in (make(connection) for make in _MAKERS)}
    return {spec.id: made[spec.id] for spec in SPECS}


def open_study(
    root: Path,
    campaign: str,
    shards: Iterable[str] | None = None,
    memory_mb: int = 1024,
    only: Iterable[str] | None = None,
) -> Connection:
    """A connection with the tables of ``analysis.names`` and those that the study adds.

    ``only`` limits what was found to these domains.
    """
    connection = open_names(root, campaign, shards, memory_mb, only)
    prepare_study(connection)
    return connection


def prepare_study(connection: Connection) -> None:
    """Add what the study's tables need to the tables of ``analysis.names.find_uses``."""
    number_names(connection)
    sharing.name_operators(connection)
    customers.locate_customers(connection)
    outages.imagine_outages(connection)
