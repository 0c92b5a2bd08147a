"""Store imported measurement results as a campaign, with the same tables and pages as any other.

Its source is recorded; nothing of it was sent by this installation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from django.db import transaction

from analysis.campaigns.importers.imported_tables import Imported
from core.errors import BadInput, NephoscopeError
from lake.parts import part_path, write_part
from tasks.campaigns import address_owners, conclusion
from tasks.campaigns.result_files import Asked, read_files
from tasks.campaigns.unit_rows import Ended, finished_unit
from webapp.store.campaigns import places as campaign_places
from webapp.store.campaigns import selectors, services
from webapp.store.models import Campaign, CampaignUnit

_KINDS = ("samples", "paths")
_ROWS = 500
_MOST_NAMED = 3
# What addresses of the forms mean in words.
_NAMES = {
    "atlas": "RIPE Atlas",
    "scamper": "scamper",
    "globalping": "Globalping",
    "square": "a square table",
    "pairs": "a list of pairs",
    "wondernetwork": "WonderNetwork",
    "cloudping": "a matrix of regions",
    "mlab": "M-Lab speed tests",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Files, how they are read, and what the campaign is called."""

    files: tuple[Path, ...]
    asked: Asked
    name: str = ""
    label: str = ""


def import_campaign(source: Source) -> Campaign:
    """Store what files hold as a finished campaign; raises ``BadInput`` or ``Unavailable``."""
    form, found = read_files(source.files, source.asked)
    tables = {"samples": found.samples, "paths": found.paths}
    if not any(map(len, tables.values())):
        listed = ", ".join(f"{r} {n:,}" for r, n in found.reasons.most_common())
        raise BadInput(f"nothing that was measured is in there{listed and ': ' + listed}")
    first = _first_round(tables.values())
    made = _campaign(source, form, found, first)
    placed = {k: _placed(_from_zero(t, first), made) for k, t in tables.items() if len(t)}
    made.vantages = _names(placed.values(), "vantage")
    made.targets = _targets(placed.values())
    made.schedule["rounds"] = 1 + max(pc.max(t["round"]).as_py() for t in placed.values())
    made.save()
    try:
        for kind, table in placed.items():
            _store(made, kind, table)
        campaign_places.save_places(made, found.places)
        conclusion.report(made)
    except NephoscopeError:
        # Half a campaign would look like a whole one.
        made.delete()
        raise
    Campaign.objects.filter(pk=made.pk).update(state=Campaign.State.FINISHED)
    made.refresh_from_db()
    return made


def _first_round(tables: Any) -> int:
    return min(pc.min(t["round"]).as_py() for t in tables if len(t))


def _from_zero(table: pa.Table, first: int) -> pa.Table:
    rounds = pc.subtract(table["round"], pa.scalar(first, pa.int32()))
    return table.set_column(table.schema.get_field_index("round"), "round", rounds)


def _campaign(source: Source, form: str, found: Imported, first: int) -> Campaign:
    """The row, not yet saved with all that it holds."""
    round_s = source.asked.round_s
    times = [m for t in (found.samples, found.paths) for m in _span(t)]
    names = ", ".join(p.name for p in source.files[:_MOST_NAMED])
    rest = len(source.files) - _MOST_NAMED
    origin = f"{names} and {rest} more" if rest > 0 else names
    begun = datetime.fromtimestamp(first * round_s, UTC) if times else datetime.now(UTC)
    made = Campaign(
        slug=services.free_slug(source.name or source.files[0].name.partition(".")[0]),
        name=source.name or f"{_NAMES[form]}: {origin}"[:200],
        state=Campaign.State.STOPPED,
        schedule={"rounds": 1, "round_s": float(round_s), "activities": []},
        label=source.label or f"Imported, measured by others: {_NAMES[form]}",
        notes=_notes(form, origin, found),
        started_at=begun,
        finished_at=max(times, default=begun),
    )
    made.save()
    return made


def _span(table: pa.Table) -> list[datetime]:
    span = pc.min_max(table["at"]).as_py()
    return [m for m in span.values() if m is not None]


def _notes(form: str, origin: str, found: Imported) -> list[str]:
    """Where it came from, and what could not be read, by reason."""
    notes = [f"Imported from {origin}, read as {_NAMES[form]}; nothing was sent from here."]
    if found.reasons:
        listed = ", ".join(f"{reason} {n:,}" for reason, n in found.reasons.most_common())
        notes.append(f"{found.malformed:,} entries of the files could not be read: {listed}.")
    return notes


def _placed(table: pa.Table, made: Campaign) -> pa.Table:
    """Where rows name no region, the range files give the region of a target; otherwise the target
    is a region by itself.
    """
    if not pc.any(pc.equal(table["region"].cast(pa.string()), "")).as_py():
        return table
    addresses = address_owners.addresses(made)
    column = table["destination"] if "destination" in table.column_names else table["target"]
    ends = column.cast(pa.string()).combine_chunks().dictionary_encode()
    places = [addresses.place(a) if a else ("", "") for a in _texts(ends)]
    indices = pa.array(np.asarray(ends.indices))
    regions = pa.array([region for _, region in places]).take(indices)
    providers = pa.array([provider for provider, _ in places]).take(indices)
    target = table["target"].cast(pa.string()).combine_chunks()
    own = pc.if_else(pc.equal(regions, ""), target, regions)
    stated = table["region"].cast(pa.string()).combine_chunks()
    empty = pc.equal(stated, "")
    table = _with(table, "region", pc.if_else(empty, own, stated))
    listed = table["provider"].cast(pa.string()).combine_chunks()
    return _with(table, "provider", pc.if_else(empty, providers, listed))


def _texts(coded: Any) -> list[str]:
    """Words of a coded column; only addresses can be looked up."""
    return [t if t.count(".") == 3 or ":" in t else "" for t in coded.dictionary.to_pylist()]


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    number = table.schema.get_field_index(name)
    kind = table.schema.field(name).type
    return table.set_column(number, name, column.dictionary_encode().cast(kind))


def _names(tables: Any, column: str) -> list[str]:
    return sorted({n for t in tables for n in pc.unique(t[column].cast(pa.string())).to_pylist()})


def _targets(tables: Any) -> list[dict[str, str]]:
    keys = ["target", "provider", "region", "zone"]
    rows = {
        tuple(row.values())
        for t in tables
        for row in _plain(t, keys).group_by(keys).aggregate([]).to_pylist()
    }
    return [
        {"name": t, "host": t, "provider": p, "region": r, "zone": z} for t, p, r, z in sorted(rows)
    ]


def _plain(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    return pa.table({c: table[c].cast(pa.string()) for c in columns})


def _store(made: Campaign, kind: str, table: pa.Table) -> None:
    """Store one part, and a unit for each vantage point with the status of its runs."""
    part = f"imported-{kind}"
    path = part_path(selectors.lake_root(), made.slug, kind, part)
    write_part(path, kind, table)
    keys = ["vantage", "status"]
    counts = _plain(table, keys).group_by(keys).aggregate([([], "count_all")]).to_pylist()
    by_vantage: dict[str, dict[str, int]] = {}
    for row in counts:
        by_vantage.setdefault(row["vantage"], {})[row["status"]] = row["count_all"]
    rows = [
        finished_unit(made, f"{kind}-{number}", Ended(kind, vantage, part, ended))
        for number, (vantage, ended) in enumerate(sorted(by_vantage.items()))
    ]
    with transaction.atomic():
        CampaignUnit.objects.bulk_create(rows, batch_size=_ROWS)
