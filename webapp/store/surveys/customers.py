"""The job that computes a survey's report again with uploaded countries of customers."""

from webapp.store.leases import JobTable, requested
from webapp.store.models import CustomerFile, Survey

FILES = JobTable(CustomerFile, "survey")


def request(survey: Survey, name: str, rows: int) -> CustomerFile:
    """Ask for the report with a file in place of the one before."""
    values = {"name": name[:200], "rows": rows, **requested()}
    row, _ = CustomerFile.objects.update_or_create(survey=survey, defaults=values)
    return row


def file_of(survey: Survey) -> CustomerFile | None:
    """The uploaded file of a survey, if there is one."""
    return CustomerFile.objects.filter(survey=survey).first()
