"""Write and read sources of zone observations, and lease their inferences."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from core.errors import Conflict, Damaged
from webapp.store.leases import JobTable, requested
from webapp.store.models import Campaign, Survey, ZoneInference, ZoneSource
from webapp.store.object_storage import files

Kind, State = ZoneSource.Kind, ZoneInference.State
MAX_SOURCES = 50
INFERENCES = JobTable(ZoneInference, "survey")


def folder_of(slug: str) -> Path:
    """Where the uploaded files of a survey stand."""
    return Path(settings.DATA_DIR) / "zone-observations" / slug


def add_file(survey: Survey, kind: str, name: str, data: bytes, rows: int) -> ZoneSource:
    """Store a checked file in place of one of its name; raises ``Conflict`` at the limit."""
    digest = hashlib.sha256(data).hexdigest()
    files.write(folder_of(survey.slug) / digest, data)
    row = _add(survey, kind, name[:200], {"sha256": digest, "rows": rows})
    _remove_unnamed(survey)
    return row


def add_campaign(survey: Survey, campaign: Campaign) -> ZoneSource:
    """Let a campaign's round trips count; raises ``Conflict`` at the limit."""
    return _add(survey, Kind.CAMPAIGN, campaign.slug, {"campaign": campaign})


def _add(survey: Survey, kind: str, name: str, values: Mapping[str, Any]) -> ZoneSource:
    own = survey.zone_sources.exclude(kind=kind, name=name)
    if own.count() >= MAX_SOURCES:
        raise Conflict(f"a survey has at most {MAX_SOURCES} sources of zones; remove one first")
    row, _ = ZoneSource.objects.update_or_create(
        survey=survey,
        kind=kind,
        name=name,
        defaults={**values, "created_at": timezone.now()},
    )
    return row


def remove_source(survey: Survey, pk: int) -> bool:
    """Remove a source with its file; false where there is none."""
    deleted, _ = survey.zone_sources.filter(pk=pk).delete()
    _remove_unnamed(survey)
    return bool(deleted)


def _remove_unnamed(survey: Survey) -> None:
    named = set(survey.zone_sources.values_list("sha256", flat=True))
    files.remove(*(p for p in files.stored_in(folder_of(survey.slug)) if p.name not in named))


def remove_files(slug: str) -> None:
    """Remove all uploaded files of a survey that is deleted."""
    files.remove(folder_of(slug))


def read_file(source: ZoneSource) -> bytes:
    """The file of a source; raises ``Damaged`` where it is gone."""
    path = folder_of(source.survey.slug) / source.sha256
    files.fetch(path)
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise Damaged(f"the stored file {source.name} is gone") from error


def sources(survey: Survey) -> list[ZoneSource]:
    """All sources of a survey."""
    return list(survey.zone_sources.select_related("campaign", "survey"))


def inference(survey: Survey) -> ZoneInference | None:
    """The inference of a survey, if one was ever asked for."""
    return ZoneInference.objects.filter(survey=survey).first()


def request(survey: Survey) -> ZoneInference:
    """Ask for an inference from all sources; one that runs is followed by another."""
    row, _ = ZoneInference.objects.update_or_create(survey=survey, defaults=requested())
    return row


def with_news() -> list[Survey]:
    """Surveys with a campaign that was reported after their last inference, or repeated since.

    A repetition has the same creator and targets as a campaign that counts already.
    """
    found: dict[int, Survey] = {}
    rows = ZoneSource.objects.filter(kind=Kind.CAMPAIGN).select_related("survey", "campaign")
    for source in rows:
        campaign, survey = source.campaign, source.survey
        if campaign is None:
            continue
        for repeated in _repetitions(campaign):
            if not survey.zone_sources.filter(campaign=repeated).exists():
                add_campaign(survey, repeated)
                found[survey.pk] = survey
        last = inference(survey)
        is_new = last is None or last.state != State.WAITING and _is_newer(campaign, last)
        if is_new and campaign.reported_at is not None:
            found[survey.pk] = survey
    return list(found.values())


def _is_newer(campaign: Campaign, last: ZoneInference) -> bool:
    moments = [m for m in (campaign.reported_at, campaign.finished_at) if m is not None]
    return bool(moments) and max(moments) > last.requested_at


def _repetitions(campaign: Campaign) -> list[Campaign]:
    later = Campaign.objects.filter(
        maker=campaign.maker,
        created_at__gt=campaign.created_at,
        synthetic=campaign.synthetic,
        finished_at__isnull=False,
    )
    return [row for row in later.order_by("-pk")[:20] if row.targets == campaign.targets]
