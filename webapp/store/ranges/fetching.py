"""Scheduled fetching of range files, with the last result of each source.

HTTP validators and the last result are files beside the range files. A doubtful file never replaces
the table in force.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone

from cartography.ranges import RangeFile, reader_of
from cartography.ranges.fetching import Mark, fetch
from cartography.ranges.gzip_file import unpack
from core.errors import BadInput, NephoscopeError
from core.files import write_text
from core.providers import PROVIDER_BY_ID, PROVIDERS
from webapp.store.models import RangeTable
from webapp.store.object_storage import files
from webapp.store.ranges import tables

log = logging.getLogger(__name__)


class Outcome(StrEnum):
    """What became of one source."""

    NEW = "new"  # a newer version is in force now
    UNCHANGED = "unchanged"
    DOUBTFUL = "doubtful"  # it was refused, and the table in force stays
    UNREACHABLE = "unreachable"  # it may answer later


@dataclass(frozen=True, slots=True)
class FetchResult:
    """Result of fetching one source; ``reason`` if the file was not imported.

    ``n_failures`` counts the requests without success up to this one, ``failing_since`` is the
    first of them; ``warnings`` list what is unusual in a file that was accepted.
    """

    provider: str
    url: str
    outcome: Outcome
    at: datetime
    as_of: str = ""
    reason: str = ""
    warnings: tuple[str, ...] = ()
    n_failures: int = 0
    failing_since: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        since = self.failing_since and self.failing_since.isoformat(timespec="seconds")
        return {**asdict(self), "at": self.at.isoformat(timespec="seconds"), "failing_since": since}

    def describe(self) -> str:
        """Describe the outcome with reason and warnings."""
        often = ""
        if self.failing_since and self.n_failures > 1:
            often = f" ({self.n_failures} times since {self.failing_since:%Y-%m-%d})"
        stated = "; ".join([self.reason, *self.warnings]).strip("; ")
        return f"{self.outcome}{often}" + (f": {stated}" if stated else f" {self.as_of}".rstrip())


def sources(providers: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(provider, URL) of every published file, or of some providers'; raises ``BadInput``."""
    chosen = [reader_of(name).PROVIDER for name in providers] or PROVIDERS
    found = [(name, url) for name in chosen for url in PROVIDER_BY_ID[name].range_urls]
    if not found:
        raise BadInput(
            f"{', '.join(providers)} publishes no file at a known address", field="provider"
        )
    return found


def fetch_all(wanted: Sequence[tuple[str, str]]) -> list[FetchResult]:
    """Ask every source for what is new, one after the other."""
    visits = [fetch_one(provider, url) for provider, url in wanted]
    for visit in visits:
        if visit.reason or visit.warnings:
            log.warning("ranges of %s: %s", visit.provider, visit.describe())
    return visits


def last_results() -> list[FetchResult]:
    """The last request to each source, those of single commands included."""
    folder = Path(settings.RANGES_DIR) / "visits"
    files.fetch_folder(folder)
    paths = sorted(folder.glob("*.json"))
    found = [visit for path in paths if (visit := _read_result(path))]
    return sorted(found, key=lambda visit: (visit.provider, visit.url))


def fetch_one(provider: str, url: str) -> FetchResult:
    """Ask one source and import what is new; every failure is an outcome, and is kept."""
    visit = _attempt(provider, url)
    path = _state_path("visits", f"{provider} {url}")
    last = _read_result(path)
    if visit.outcome in (Outcome.DOUBTFUL, Outcome.UNREACHABLE):
        n_failures = 1 + (last.n_failures if last else 0)
        since = (last and last.failing_since) or visit.at
        visit = replace(visit, n_failures=n_failures, failing_since=since)
    files.write(path, json.dumps(visit.as_json()).encode())
    return visit


def _attempt(provider: str, url: str) -> FetchResult:
    at = timezone.now()
    try:
        found = _fetch_new(provider, url)
    except NephoscopeError as error:
        outcome = Outcome.DOUBTFUL if error.permanent else Outcome.UNREACHABLE
        return FetchResult(provider, url, outcome, at, reason=str(error))
    if found is None:
        return FetchResult(provider, url, Outcome.UNCHANGED, at)
    as_of = str(found.as_of)
    return FetchResult(provider, url, Outcome.NEW, at, as_of=as_of, warnings=found.warnings)


def _fetch_new(provider: str, url: str) -> RangeFile | None:
    """The new file, ``None`` when there is nothing new; raises as ``fetch`` and the import do."""
    file_url = _locate(provider, url)
    mark = _read_mark(file_url)
    found = fetch(mark)
    if found is None:
        return None
    data = unpack(found.data)
    digest = hashlib.sha256(data).hexdigest()
    known = RangeTable.objects.filter(provider=provider, sha256=digest, origin="").first()
    file = None
    if known is None:
        name = Path(urlsplit(file_url).path).name
        as_of = _refuse_older(provider, data, name)
        _, file = tables.import_ranges(provider, data, as_of=as_of, file_name=name)
    # The mark is kept only now: a file that was refused is requested again the next time.
    write_text(_mark_path(found.mark.url), json.dumps(asdict(found.mark)))
    return file


def _locate(provider: str, url: str) -> str:
    """The address of the file itself, which for some providers is on a page."""
    locate = getattr(reader_of(provider), "locate", None)
    if locate is None or url.endswith(".json"):
        return url
    page = fetch(Mark(url))
    return str(locate(unpack(page.data), url)) if page else url


def _refuse_older(provider: str, data: bytes, name: str) -> date:
    """The day of a file that is as new as the table in force: its own, else today."""
    parsed = tables.read_with_date(provider, data, name)
    rows = tables.versions(provider, parsed.variant)
    if rows and rows[-1].as_of > parsed.as_of:
        raise BadInput(f"it is of {parsed.as_of}; the table of {rows[-1].as_of} stays in force")
    return parsed.as_of


def _mark_path(url: str) -> Path:
    return _state_path("marks", url)


def _read_mark(url: str) -> Mark:
    try:
        row = json.loads(_mark_path(url).read_text())
        return Mark(url, str(row["etag"]), str(row["last_modified"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Mark(url)


def _read_result(path: Path) -> FetchResult | None:
    try:
        row = json.loads(path.read_text())
        since = row["failing_since"]
        own = {
            "outcome": Outcome(row["outcome"]),
            "at": datetime.fromisoformat(row["at"]),
            "warnings": tuple(row["warnings"]),
            "failing_since": datetime.fromisoformat(since) if since else None,
        }
        return FetchResult(**{**row, **own})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _state_path(folder: str, key: str) -> Path:
    name = hashlib.sha256(key.encode()).hexdigest()[:24]
    return Path(settings.RANGES_DIR) / folder / f"{name}.json"
