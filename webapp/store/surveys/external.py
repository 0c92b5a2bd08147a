"""Surveys whose observations come from elsewhere than a crawl: stored with a full manifest."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.records import DomainEntry
from core.statuses import SurveyState
from webapp.store.models import RangeTable, Shard, Survey
from webapp.store.surveys.services import free_slug
from webapp.store.surveys.uploads import save_entries


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
    """Put a slice of the list, whose parts are stored, into the manifest."""
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
