"""Surveys with observations from other sources than a crawl: stored with a full manifest.

Range tables of a package are stored under a separate origin, so that no other survey uses them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.records import DomainEntry
from core.statuses import SurveyState
from webapp.store.models import RangeTable, Shard, Survey
from webapp.store.ranges.tables import store_file
from webapp.store.surveys.services import free_slug
from webapp.store.surveys.uploads import save_entries

# Origins of range tables that came with a package begin so.
PACKAGED = "package:"


@dataclass(frozen=True, slots=True)
class Origin:
    """Who answered for an observed survey, and by which range tables it is placed."""

    world: str
    tables: Sequence[RangeTable]


def open_observed(
    name: str, entries: Sequence[DomainEntry], origin: Origin, options: Mapping[str, Any]
) -> Survey:
    """A running survey without shards; ``add_shard`` brings them, one by one."""
    text = "".join(f"{e.rank},{e.domain}\n" for e in entries)
    with transaction.atomic():
        survey = Survey.objects.create(
            slug=free_slug(name),
            name=name[:200],
            state=SurveyState.RUNNING,
            world=origin.world,
            options=dict(options),
            list_sha256=hashlib.sha256(text.encode()).hexdigest(),
            n_domains=len(entries),
            started_at=timezone.now(),
        )
        survey.range_tables.set(origin.tables)
        save_entries(survey.slug, entries)
    return survey


def add_shard(
    survey: Survey,
    key: str,
    span: tuple[int, int],
    rows: Mapping[str, int],
    counters: Mapping[str, Any],
) -> None:
    """Add a slice of the list with stored parts to the manifest."""
    Shard.objects.create(
        survey=survey,
        key=key,
        first=span[0],
        last=span[1],
        state=Shard.State.DONE,
        attempt=1,
        rows=dict(rows),
        counters=dict(counters),
        finished_at=timezone.now(),
    )


def published_origin(row: RangeTable) -> str:
    """The origin of a range table where it was imported first."""
    return row.origin.removeprefix(PACKAGED)


def find_or_store_ranges(described: RangeTable, data: bytes) -> RangeTable:
    """The stored table of a packaged range file, with its file; ``described`` is not saved.

    A table that is here already is used as it is. Another one is stored so that it is in force for
    the surveys of packages alone: a package must not change how this installation maps addresses.
    """
    same = RangeTable.objects.filter(
        provider=described.provider,
        sha256=described.sha256,
        as_of=described.as_of,
        variant=described.variant,
        origin__in=(described.origin, f"{PACKAGED}{described.origin}"),
    )
    found = same.order_by("origin").first()
    origin = found.origin if found else f"{PACKAGED}{described.origin}"
    # Also for a known table: its file may be gone.
    row = store_file(
        described.provider, data, described.as_of, origin, described.counts, described.variant
    )
    return found or row


def store_rebuilt(
    fields: Mapping[str, Any], tables: Sequence[RangeTable], shards: Sequence[Mapping[str, Any]]
) -> Survey:
    """Store an ended survey with its manifest; the caller stores its reports and files."""
    survey = Survey.objects.create(**fields)
    # Set by the model on creation.
    Survey.objects.filter(pk=survey.pk).update(created_at=fields["created_at"])
    survey.range_tables.set(tables)
    Shard.objects.bulk_create(
        (Shard(survey=survey, attempt=1, **shard) for shard in shards), batch_size=500
    )
    return survey
