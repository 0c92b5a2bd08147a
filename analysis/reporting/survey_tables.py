"""The deployment study: every table from one campaign's parts, as set operations."""

from collections.abc import Iterable
from pathlib import Path

from analysis.deployment import customers, sharing
from analysis.deployment.address_places import create_location_tables
from analysis.deployment.cloud_names import Connection, open_names
from analysis.outages import outages
from analysis.reporting.registry import TABLE_BY_ID
from core.report_tables import Table


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
    return {table_id: table.build(connection) for table_id, table in TABLE_BY_ID.items()}


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
