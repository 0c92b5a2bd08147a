"""Owners of addresses, by imported or given tables: for campaigns and commands."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from analysis.campaigns.routes.address_owners import Addresses, FindClouds, FindOrigins
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from cartography.placement.cloud_table import PrefixTable
from core.errors import BadInput, MissingData
from webapp.store.models import Campaign
from webapp.store.ranges import asn, tables


@dataclass(frozen=True)
class Origins:
    """Which table of origins: a file, or the imported one in force on a day (else the newest)."""

    as_of: date | None = None
    file: Path | None = None


@dataclass(frozen=True)
class Ranges:
    """Which range files: given ones by provider, or the imported ones in force on a day."""

    as_of: date | None = None
    files: tuple[tuple[str, Path], ...] = ()


def addresses(campaign: Campaign) -> Addresses:
    """Look-ups by the tables of the day on which a campaign began.

    Without a table of origins no address has an announcing network; without range files an address
    is a cloud address only if its target declares it.
    """
    begun = campaign.started_at.date() if campaign.started_at else None
    return Addresses(_origins_on(begun), _clouds_on(begun))


def addresses_by(origins: Origins, ranges: Ranges, exchanges: Sequence[str] = ()) -> Addresses:
    """Look-ups by these tables; raises ``BadInput`` or ``MissingData`` where one is not there."""
    try:
        return Addresses(_origins(origins), _clouds(ranges), exchanges)
    except ValueError as error:
        raise BadInput(f"{error}", field="--exchanges") from error


def _origins(asked: Origins) -> FindOrigins:
    if asked.file is not None:
        return OriginTable.build(read_origins(_read(asked.file))).find_many
    if tables.origins_of([], asked.as_of) is None:
        when = f" of {asked.as_of} or before" if asked.as_of else ""
        raise MissingData(
            f"there is no table of origin ASes{when}; import one with: manage.py asn import "
            "FILE, or name one with --asn"
        )
    return _origins_on(asked.as_of)


def _clouds(asked: Ranges) -> FindClouds:
    if not asked.files:
        return _clouds_on(asked.as_of)
    files = [
        tables.read_with_date(provider, _read(path), path.name) for provider, path in asked.files
    ]
    return _find_in(PrefixTable.build(files))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error


def _origins_on(as_of: date | None) -> FindOrigins:
    def find(asked: Sequence[str]) -> list[tuple[int, ...]]:
        found = tables.origins_of(asked, as_of)
        # A table of a later day knows most networks of an earlier one.
        found = tables.origins_of(asked) if found is None else found
        return [()] * len(asked) if found is None else found

    return find


def _clouds_on(as_of: date | None) -> FindClouds:
    for day in (as_of, None):
        try:
            return _find_in(tables.prefix_table(tables.tables_in_force(as_of=day)))
        except MissingData:
            continue
    return lambda asked: [("", "")] * len(asked)


def _find_in(table: PrefixTable) -> FindClouds:
    def find(asked: Sequence[str]) -> list[tuple[str, str]]:
        return [(p.provider or "", p.region or "") for p in table.place_many(asked)]

    return find


def isp_names(as_of: date | None = None) -> dict[int, str]:
    """Names of ASes by the list in force; empty where none was imported."""
    return dict(asn.as_names(as_of))
