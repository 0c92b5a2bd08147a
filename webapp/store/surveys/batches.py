"""Vantage batches: slices of a survey's cloud-using names, one row per slice and vantage.

They are shards with names instead of domains.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings
from django.db import models
from django.utils import timezone

from core.files import replace_file
from core.statuses import FINAL_STATES
from webapp.store.models import Shard, Survey
from webapp.store.object_storage import files
from webapp.store.surveys import services

# Few enough for one message, many enough that messages cost nothing beside the questions.
BATCH_NAMES = 1_000
_VANTAGE = "[a-z0-9-]{1,24}"
_KEY = re.compile(rf"v\.(?P<vantage>{_VANTAGE})\.[0-9]{{5,}}")
_OPEN = (Shard.State.WAITING, Shard.State.RUNNING)


def is_vantage(name: str) -> bool:
    """Whether a measuring point may be called so: names are parts of queues and of files."""
    return bool(re.fullmatch(_VANTAGE, name))


def vantage_of(shard: Shard) -> str:
    """The measuring point of a batch; empty for a shard of the domain list."""
    found = _KEY.fullmatch(shard.key)
    return found["vantage"] if found else ""


def names_path(slug: str) -> Path:
    """Where a survey's cloud-using names stand, as ``name, domain``; one row group per batch."""
    return Path(settings.UPLOADS_DIR) / f"{slug}.vantage.parquet"


def save_names(slug: str, rows: Sequence[tuple[str, str]]) -> None:
    """Write (name, domain) of all cloud-using names under a temporary name, then rename."""
    names, domains = zip(*rows, strict=True)
    table = pa.table({"name": names, "domain": domains})
    with replace_file(names_path(slug)) as temporary:
        pq.write_table(table, temporary, row_group_size=BATCH_NAMES)
        files.publish(temporary, names_path(slug))


def load_names(shard: Shard) -> dict[str, str]:
    """The names of a batch with their domains, in order."""
    path = names_path(shard.survey.slug)
    files.fetch(path)
    with pq.ParquetFile(path) as file:
        rows = file.read_row_group(shard.first // BATCH_NAMES)
    return dict(zip(rows["name"].to_pylist(), rows["domain"].to_pylist(), strict=True))


def add_batches(survey: Survey, vantages: Sequence[str], n_names: int) -> None:
    """Store one batch per slice of the names and vantage; those that stand already stay."""
    Shard.objects.bulk_create(
        (
            Shard(
                survey=survey,
                key=f"v.{vantage}.{first // BATCH_NAMES:05d}",
                first=first,
                last=min(first + BATCH_NAMES, n_names),
            )
            for vantage in vantages
            for first in range(0, n_names, BATCH_NAMES)
        ),
        ignore_conflicts=True,
    )


def batches_of(survey: Survey, vantage: str = "") -> models.QuerySet[Shard]:
    """The batches of a survey, or of one vantage, in order."""
    return survey.shards.filter(key__startswith=f"v.{vantage}." if vantage else "v.")


def open_batches(survey: Survey, vantage: str) -> models.QuerySet[Shard]:
    """The batches of a vantage that have not ended."""
    return batches_of(survey, vantage).filter(state__in=_OPEN)


def count_leased(survey: Survey, vantage: str) -> int:
    """How many batches a vantage has not answered within their lease yet."""
    running = batches_of(survey, vantage).filter(state=Shard.State.RUNNING)
    return running.filter(leased_until__gte=timezone.now()).count()


def free_batches(survey: Survey, vantage: str, limit: int) -> list[int]:
    """The next batches that wait, or have a silent vantage point."""
    free = models.Q(state=Shard.State.WAITING) | models.Q(
        state=Shard.State.RUNNING, leased_until__lt=timezone.now()
    )
    rows = batches_of(survey, vantage).filter(free).order_by("first")
    return list(rows.values_list("pk", flat=True)[:limit])


def claim(batch: int, lease: timedelta) -> Shard | None:
    """Take a free batch for ``lease``; ``None`` when it is not free any more."""
    shard = services.claim(batch)
    if shard:
        ours = Shard.objects.filter(pk=shard.pk, attempt=shard.attempt)
        ours.update(leased_until=timezone.now() + lease)
    return shard


def reclaim(batch: int) -> Shard | None:
    """Claim an answered batch, from any attempt; ``None`` when it has ended."""
    taken = (
        Shard.objects.filter(pk=batch, state__in=_OPEN)
        .exclude(survey__in=Survey.objects.filter(state__in=FINAL_STATES))
        .update(
            state=Shard.State.RUNNING,
            attempt=models.F("attempt") + 1,
            leased_until=timezone.now() + services.LEASE,
        )
    )
    return Shard.objects.select_related("survey").get(pk=batch) if taken else None


def vantage_of_batch(batch: int) -> str:
    """The measuring point of a batch; empty where there is no such batch."""
    key = Shard.objects.filter(pk=batch).values_list("key", flat=True).first()
    found = _KEY.fullmatch(key or "")
    return found["vantage"] if found else ""
