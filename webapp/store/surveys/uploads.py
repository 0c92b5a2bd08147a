"""Uploads of a survey: the accepted entries of its domain list, and countries of its customers."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from core.errors import MissingData
from core.records import DomainEntry
from webapp.store.leases import JobTable, requested
from webapp.store.models import CustomerFile, Survey
from webapp.store.object_storage import files

CUSTOMER_FILES = JobTable(CustomerFile, "survey")


def list_path(slug: str) -> Path:
    """Where the accepted entries of a survey stand, as ``rank,domain,line``."""
    return Path(settings.UPLOADS_DIR) / f"{slug}.csv"


def save_entries(slug: str, entries: Sequence[DomainEntry]) -> None:
    """Write the accepted entries under a temporary name, then rename."""
    text = io.StringIO()
    csv.writer(text).writerows((e.rank, e.domain, e.line) for e in entries)
    files.write(list_path(slug), text.getvalue().encode())


def load_entries(slug: str, first: int, last: int) -> list[DomainEntry]:
    """Entries ``first`` to ``last`` (exclusive) in list order; ``MissingData`` without a list."""
    entries = []
    path = list_path(slug)
    files.fetch(path)
    if not path.is_file():
        raise MissingData(
            f"the list of domains of the survey {slug} is not stored here: packages of surveys do"
            " not contain it; upload the list and run a survey of it"
        )
    with path.open(newline="") as handle:
        for position, (rank, domain, line) in enumerate(csv.reader(handle)):
            if position >= last:
                break
            if position >= first:
                entries.append(DomainEntry(domain=domain, rank=int(rank), line=int(line)))
    return entries


def only_domain(slug: str, n_domains: int) -> str:
    """The domain of a survey of one; empty for longer lists, and where no list is stored."""
    if n_domains != 1:
        return ""
    try:
        entries = load_entries(slug, 0, 1)
    except MissingData:
        return ""
    return entries[0].domain if entries else ""


def request_customers(survey: Survey, name: str, rows: int) -> CustomerFile:
    """Ask for the report with a file of customer countries in place of the one before."""
    values = {"name": name[:200], "rows": rows, **requested()}
    row, _ = CustomerFile.objects.update_or_create(survey=survey, defaults=values)
    return row


def customer_file(survey: Survey) -> CustomerFile | None:
    """The uploaded file of customer countries of a survey, if there is one."""
    return CustomerFile.objects.filter(survey=survey).first()
