"""Compute a campaign's tables from its parts, while it runs and at its end.

Parts of single units are put together now and then: tens of thousands of files are slow to read.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.campaigns.routes.address_owners import Addresses
from analysis.campaigns.routes.downstream_isp import find_isps
from analysis.campaigns.tables.tables import build_tables
from core.errors import NephoscopeError
from lake.parts import fetch_parts, part_path, write_part
from tasks.campaigns import address_owners, best_sets
from webapp.store.campaigns import progress, selectors, services, units
from webapp.store.models import Campaign, CampaignUnit
from webapp.store.object_storage import files

log = logging.getLogger(__name__)
# A running campaign is reported this often; a young one more often, so that its map shows the first
# results as they come.
REPORT_EVERY_S, FIRST_REPORT_S = 60.0, 10.0
# So many parts of single units are put together.
LOOSE_PARTS = 400
KINDS = ("samples", "paths")


@dataclass(frozen=True)
class OwnerLookup:
    """Owners of addresses, and the names of ASes."""

    addresses: Addresses
    names: Mapping[int, str]


def wants_report(campaign: Campaign, now: datetime) -> bool:
    """Whether there is something new that has not been reported for a while."""
    if campaign.state not in (Campaign.State.RUNNING, Campaign.State.PAUSED):
        return False
    last = campaign.reported_at or campaign.started_at
    if last is None or now - last < _pause_between_reports(campaign, now):
        return False
    ended = campaign.units.filter(state=CampaignUnit.State.DONE, finished_at__gt=last)
    return ended.exists()


def _pause_between_reports(campaign: Campaign, now: datetime) -> timedelta:
    """A tenth of the age of the campaign, within its bounds."""
    age_s = (now - campaign.started_at).total_seconds() if campaign.started_at else 0.0
    return timedelta(seconds=min(max(FIRST_REPORT_S, age_s / 10), REPORT_EVERY_S))


def claim_report(campaign: Campaign, now: datetime) -> bool:
    """Whether this process makes the report that is due."""
    before = campaign.reported_at
    rows = Campaign.objects.filter(pk=campaign.pk, reported_at=before)
    return bool(rows.update(reported_at=now))


def report(campaign: Campaign, owners: OwnerLookup | None = None) -> None:
    """Build and keep all tables of what was measured so far; raises ``Unavailable``.

    The owners of addresses are read from the imported tables, unless others are given.
    """
    join_parts(campaign, least=LOOSE_PARTS)
    samples, paths = (selectors.parts(campaign, kind) for kind in KINDS)
    if paths:
        known = owners or OwnerLookup(
            address_owners.addresses(campaign), address_owners.isp_names()
        )
        built = build_tables(samples, find_isps(paths, known.addresses), known.names, paths)
        # Pages show the owner of each hop without reading the tables of that day again.
        built.files["hops"] = known.addresses.describe(known.names)
    else:
        built = build_tables(samples)
    coverage = progress.coverage_tables(campaign)
    selectors.save_tables(campaign, [*built.reports, *coverage], built.files)
    services.save_summary(campaign, progress.summary(campaign))


def conclude(campaign: Campaign, now: datetime, owners: OwnerLookup | None = None) -> None:
    """Report for the last time and close the campaign."""
    try:
        report(campaign, owners)
    except NephoscopeError as error:
        if not error.permanent:
            raise
        services.save_error(campaign, f"its tables could not be made: {error}")
    services.finish(campaign, progress.summary(campaign), now)
    remove_unnamed_parts(campaign)
    # Solved before anyone asks; where a command measures by itself and no broker may be there,
    # the first visitor's request has it solved.
    for metric in () if campaign.in_process else best_sets.METRICS:
        best_sets.submit(campaign, metric)


def join_parts(campaign: Campaign, least: int = 2) -> None:
    """Put parts of single units together; readers find the old ones until the new one is whole.

    The old ones are removed at the next call, so that a process that reads them now can finish.
    """
    unmerged = units.unmerged_units(campaign)
    if len(unmerged) < least:
        return
    remove_unnamed_parts(campaign)
    name = f"{unmerged[0].pk}-{unmerged[-1].pk}.joined"
    # Rows of one vantage point stand together: pages ask for one at a time.
    in_order = sorted(unmerged, key=lambda u: (u.vantage, u.key))
    for kind in KINDS:
        _join(campaign, kind, [u for u in in_order if u.rows.get(kind)], name)
    units.assign_part(unmerged, name)


def _join(campaign: Campaign, kind: str, unmerged: Sequence[CampaignUnit], name: str) -> None:
    root = selectors.lake_root()
    paths = [part_path(root, campaign.slug, kind, u.key) for u in unmerged]
    if paths:
        fetch_parts(root, campaign.slug, kind)
        whole = pa.concat_tables(pq.read_table(p, use_threads=False) for p in paths)
        write_part(part_path(root, campaign.slug, kind, name), kind, whole.unify_dictionaries())


def remove_unnamed_parts(campaign: Campaign) -> None:
    """Remove parts that no unit names any more."""
    named = progress.parts_named(campaign)
    for kind in KINDS:
        folder = part_path(selectors.lake_root(), campaign.slug, kind, "x").parent
        for path in folder.glob("*.parquet"):
            if path.name.removesuffix(".parquet") not in named:
                path.unlink(missing_ok=True)
                files.unregister(path)


def document(campaign: Campaign) -> dict[str, Any]:
    """A campaign with its tables, as commands and the API give it."""
    tables = {
        t.table_id: {
            "columns": t.columns,
            "rows": t.rows,
            "n": t.n,
            "headline": t.headline,
            "checks": t.checks,
        }
        for t in selectors.tables(campaign).values()
    }
    return {**progress.as_json(campaign), "tables": tables}
