"""Export of an account's data as a ZIP archive: rows as JSON, observations as stored.

Secrets and other users' data are excluded.
"""

import json
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Model, Q
from django.utils import timezone

from lake.schemas import SCHEMAS
from webapp.store.access import domain_claims, identities, organisations, sharing, tokens
from webapp.store.audits import findings, lists, policies
from webapp.store.campaigns import selectors
from webapp.store.models import (
    AlertEndpoint,
    Audit,
    Beacon,
    Campaign,
    Pool,
    PoolReport,
    Recommendation,
    SavedList,
    SavedPolicy,
    Schedule,
    ScheduleRun,
    Survey,
    TrafficUpload,
)
from webapp.store.object_storage import files
from webapp.store.recommendations import services
from webapp.store.schedules import endpoints
from webapp.store.screening import body_files
from webapp.store.screening.body_files import Place
from webapp.store.surveys import batches
from webapp.store.surveys.uploads import list_path
from webapp.store.traffic.services import import_folder

# (name in the archive, what it holds)
Member = tuple[str, bytes | Path]
CHUNK_BYTES = 1 << 20
# Already compressed.
_PACKED = (".parquet", ".gz", ".zst")
_SECRET = {
    "id",
    "organisation",
    "owner",
    "maker",
    "seed",
    "sha256",
    "previous_seed",
    "lease",
    "share_seed",
    "share_sha256",
    "password",
    "idempotency_key",
    "secret_sha256",
}


def members(user: Any) -> Iterator[Member]:
    """Yield all members of a user's archive, account first."""
    yield "account.json", _text(_account(user))
    for survey in Survey.objects.filter(Q(owner=user) | Q(maker=user)):
        yield from _survey(survey)
    for row in Recommendation.objects.filter(owner=user):
        yield from _recommendation(row)
    for found in Campaign.objects.filter(Q(owner=user) | Q(maker=user)):
        yield from _campaign(found)
    for audit in Audit.objects.filter(Q(owner=user) | Q(maker=user)):
        yield f"audits/{audit.slug}/audit.json", _text(_plain(audit))
        yield from _files(f"audits/{audit.slug}", findings.folder_of(audit.slug))
    yield from _saved(user)
    yield from _alerts(user)
    for beacon in Beacon.objects.filter(owner=user):
        yield f"beacons/{beacon.key}.json", _text(_beacon(beacon))
    for upload in TrafficUpload.objects.filter(owner=user):
        base = f"captures/{upload.slug}"
        yield f"{base}/upload.json", _text(_plain(upload))
        yield from _files(base, import_folder(upload))
    for pool in Pool.objects.filter(owner=user):
        yield from _pool(pool)


def _account(user: Any) -> dict[str, Any]:
    return {
        "name": user.get_username(),
        "created_at": user.date_joined,
        "signed_in_at": user.last_login,
        "identities": [_plain(row) for row in identities.identities_of(user)],
        "domains": [_plain(row) for row in domain_claims.claims_of(user)],
        "tokens": [_plain(token) for token in tokens.live(user)],
        "organisations": [
            {"name": row.organisation.name, "role": row.role, "joined_at": row.created_at}
            for row in organisations.memberships_of(user)
        ],
        "links": [{**_plain(link), link.kind: link.slug} for link in sharing.links_by(user)],
    }


def _survey(survey: Survey) -> Iterator[Member]:
    base = f"surveys/{survey.slug}"
    files.fetch_all(Path(settings.LAKE_DIR) / survey.slug)
    reports = [_plain(report) for report in survey.reports.all()]
    yield f"{base}/survey.json", _text({**_plain(survey), "tables": reports})
    for path in (list_path(survey.slug), batches.names_path(survey.slug)):
        if path.is_file():
            yield f"{base}/{path.name}", path
    for table in SCHEMAS:
        yield from _files(f"{base}/lake/{table}", Path(settings.LAKE_DIR) / survey.slug / table)


def _recommendation(row: Recommendation) -> Iterator[Member]:
    base = f"recommendations/{row.token}"
    yield f"{base}/recommendation.json", _text(_plain(row))
    yield from _files(f"{base}/files", services.folder_of(row.token))


def _campaign(found: Campaign) -> Iterator[Member]:
    base = f"campaigns/{found.slug}"
    files.fetch_all(selectors.lake_root() / found.slug)
    reports = [_plain(report) for report in found.reports.all()]
    yield f"{base}/campaign.json", _text({**_plain(found), "tables": reports})
    yield from _files(f"{base}/lake", selectors.lake_root() / found.slug)
    yield from _files(f"{base}/tables", selectors.folder_of(found))


def _beacon(beacon: Beacon) -> dict[str, Any]:
    return {**_plain(beacon), "cells": [_plain(cell) for cell in beacon.cells.all()]}


def _saved(user: Any) -> Iterator[Member]:
    """Saved domain lists and policies, and suppressions."""
    for saved in SavedList.objects.filter(owner=user):
        yield f"domain-lists/{saved.slug}/list.json", _text(_plain(saved))
        yield from _files(f"domain-lists/{saved.slug}", lists.folder_of(saved.slug))
    for policy in SavedPolicy.objects.filter(owner=user):
        yield f"audit-policies/{policy.slug}.json", _text(_plain(policy))
    rows = policies.suppressions_of(user)
    if rows:
        named = [{**_plain(row), "policy": row.policy.slug if row.policy else None} for row in rows]
        yield "audit-suppressions.json", _text(named)


def _alerts(user: Any) -> Iterator[Member]:
    """Schedules with runs and events; endpoints of alerts with deliveries."""
    for row in Schedule.objects.filter(owner=user):
        runs = [_run(run) for run in row.runs.select_related("survey", "campaign", "audit")]
        events = [_plain(event) for event in row.events.all()]
        yield f"schedules/{row.slug}.json", _text({**_plain(row), "runs": runs, "events": events})
    for found in AlertEndpoint.objects.filter(owner=user).select_related("schedule"):
        document = {
            **_plain(found),
            # The whole URL of some receivers is a secret.
            "target": endpoints.shown_target(found),
            "schedule": found.schedule.slug if found.schedule else None,
            "deliveries": [_plain(delivery) for delivery in found.deliveries.all()],
        }
        yield f"alert-endpoints/{found.slug}.json", _text(document)


def _run(run: ScheduleRun) -> dict[str, Any]:
    started = {"survey": run.survey, "campaign": run.campaign, "audit": run.audit}
    return {**_plain(run), **{name: thing and thing.slug for name, thing in started.items()}}


def _pool(pool: Pool) -> Iterator[Member]:
    base = f"pools/{pool.key}"
    parts = {
        name: [_plain(row) for row in getattr(pool, name).all()]
        for name in ("instances", "logs", "tokens")
    }
    yield f"{base}/pool.json", _text({**_plain(pool), **parts})
    for row in PoolReport.objects.filter(pool=pool).iterator(chunk_size=500):
        yield f"{base}/reports/{row.report_id}.json", _report(row)


def _report(row: PoolReport) -> bytes:
    try:
        return body_files.read(row.pool_id, Place(row.pack, row.offset, row.length))
    except (OSError, ValueError) as error:
        # A lost report must not prevent the export.
        return _text({"lost": str(error), **_plain(row)})


def _files(base: str, folder: Path) -> Iterator[Member]:
    files.fetch_all(folder)
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.is_file():
            yield f"{base}/{path.relative_to(folder)}", path


def _plain(row: Model) -> dict[str, Any]:
    """Return the columns of a row without foreign keys and secrets."""
    fields = [f for f in row._meta.concrete_fields if f.name not in _SECRET and not f.is_relation]
    return {field.name: field.value_from_object(row) for field in fields}


def _text(document: Any) -> bytes:
    return json.dumps(document, default=str, indent=1, ensure_ascii=False).encode()


class _Pipe(BytesIO):
    """Unseekable write buffer, drained after each chunk."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError("a pipe has no place")

    def drain(self) -> bytes:
        found = self.getvalue()
        self.seek(0)
        self.truncate()
        return found


def pack(files: Iterable[Member]) -> Iterator[bytes]:
    """Stream a ZIP archive in chunks."""
    pipe, now = _Pipe(), timezone.now().timetuple()[:6]
    with zipfile.ZipFile(pipe, "w", compresslevel=1) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name, now)
            entry.compress_type = (
                zipfile.ZIP_STORED if name.endswith(_PACKED) else zipfile.ZIP_DEFLATED
            )
            with archive.open(entry, "w", force_zip64=True) as place:
                for chunk in _chunks(content):
                    place.write(chunk)
                    yield pipe.drain()
    yield pipe.drain()


def _chunks(content: bytes | Path) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with suppress(FileNotFoundError), content.open("rb") as handle:  # it may go meanwhile
        while chunk := handle.read(CHUNK_BYTES):
            yield chunk
