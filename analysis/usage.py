"""The deployment study: every table from one campaign's parts, as set operations."""

from collections.abc import Iterable
from pathlib import Path

from analysis import features, name_servers, providers, region_usage, top_domains
from analysis.names import open_names
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
)


def compute_tables(
    root: Path, campaign: str, shards: Iterable[str] | None = None, memory_mb: int = 1024
) -> dict[str, Table]:
    """All tables by id, in the order of ``core.tables.SPECS``; an empty survey gives empty ones."""
    connection = open_names(root, campaign, shards, memory_mb)
    try:
        made = {table.id: table for table in (make(connection) for make in _MAKERS)}
    finally:
        connection.close()
    return {spec.id: made[spec.id] for spec in SPECS}
