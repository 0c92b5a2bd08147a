"""Deletion of surveys, campaigns, audits and accounts with their files."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from lake.schemas import SCHEMAS
from webapp.store.access import events, organisations
from webapp.store.audits import lists
from webapp.store.audits import services as audit_services
from webapp.store.campaigns import selectors
from webapp.store.campaigns import services as campaign_services
from webapp.store.models import (
    Audit,
    Campaign,
    Pool,
    Recommendation,
    SavedList,
    Survey,
    TrafficUpload,
)
from webapp.store.object_storage import files
from webapp.store.recommendations import services as recommendation_services
from webapp.store.screening import body_files, publications
from webapp.store.surveys import batches, derived, services, snapshots
from webapp.store.surveys.uploads import list_path
from webapp.store.traffic import services as traffic_services
from webapp.store.zones import services as zone_services


def remove_account(user: Any) -> None:
    """Delete an account with its private objects; published ones stay without a creator.

    Objects in organisations stay with these. Raise ``Conflict`` while the account is the only
    owner of an organisation with other members.
    """
    organisations.leave_all(user)
    events.record(user, "account.delete", user.get_username())
    for survey in Survey.objects.filter(owner=user):
        remove_survey(survey)
    for row in Recommendation.objects.filter(owner=user):
        recommendation_services.delete(row)
    for found in Campaign.objects.filter(owner=user):
        remove_campaign(found)
    for audit in Audit.objects.filter(owner=user):
        remove_audit(audit)
    for saved in SavedList.objects.filter(owner=user):
        lists.delete_list(saved)
    for upload in TrafficUpload.objects.filter(owner=user):
        traffic_services.delete(upload)
    pools = list(Pool.objects.filter(owner=user))
    publications.withdraw(*pools)
    folders = [body_files.folder_of(pool.pk) for pool in pools]
    # Keys of rows without a creator must stay unique.
    Survey.objects.filter(maker=user).update(idempotency_key=None)
    Audit.objects.filter(maker=user).update(idempotency_key=None)
    user.delete()
    files.remove(*folders)


def remove(thing: Survey | Campaign | Audit, user: Any = None) -> None:
    """Delete a survey, campaign or audit with its files, for a user."""
    kind = str(thing._meta.model_name)
    events.record(user, f"{kind}.delete", thing.slug, thing.organisation_id)
    if isinstance(thing, Survey):
        remove_survey(thing)
    elif isinstance(thing, Audit):
        remove_audit(thing)
    else:
        remove_campaign(thing)


def remove_audit(audit: Audit) -> None:
    """Delete an audit; the survey that it started is cancelled if no other audit waits for it."""
    survey = audit.survey if audit.source != Audit.Source.SURVEY else None
    if survey is not None and not audit_services.is_awaited(survey, except_for=audit):
        services.cancel(survey)
    audit_services.delete(audit)


def remove_survey(survey: Survey) -> None:
    """Cancel a survey and delete it with its list, observations and derived files."""
    services.cancel(survey)
    with transaction.atomic():
        Survey.objects.filter(pk=survey.pk).delete()
    slug = survey.slug
    files.remove(*_folders(slug))
    files.unregister_containing(f"/against/{slug}/")
    zone_services.remove_files(slug)
    with suppress(OSError):  # something else is still there
        (Path(settings.LAKE_DIR) / slug).rmdir()
    files.remove(list_path(slug), batches.names_path(slug))


def remove_campaign(found: Campaign) -> None:
    """Stop a campaign and delete it with its samples, paths, raw answers and tables.

    Late results of vantage points are discarded.
    """
    campaign_services.stop(found, timezone.now())
    with transaction.atomic():
        Campaign.objects.filter(pk=found.pk).delete()
    derived_files = selectors.folder_of(found)
    # Tables that were being built beside those of before.
    begun = derived_files.parent.glob(f".{found.slug}.*")
    files.remove(selectors.lake_root() / found.slug, derived_files, *begun)


def _folders(slug: str) -> list[Path]:
    """Return the known folders of a survey; unknown files in the lake are kept."""
    lake = Path(settings.LAKE_DIR) / slug
    tables = [lake / table for table in SCHEMAS]
    others = [derived.root() / slug, *derived.root().glob(f"*/against/{slug}")]
    return [*tables, snapshots.root() / slug, *others]
