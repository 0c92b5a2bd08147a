"""The formats of a report by name."""

from collections.abc import Callable
from functools import partial

from audits.findings import AuditReport
from audits.output.document import as_json
from audits.output.junit import as_junit
from audits.output.locations import ListLocation
from audits.output.sarif import as_sarif
from audits.output.tables import as_csv, as_gitlab, as_markdown

FORMATS: dict[str, Callable[[AuditReport, ListLocation], str]] = {
    "json": lambda report, location: as_json(report),
    "sarif": as_sarif,
    "sarif-github": partial(as_sarif, github=True),
    "junit": lambda report, location: as_junit(report),
    "gitlab": as_gitlab,
    "markdown": lambda report, location: as_markdown(report),
    "csv": lambda report, location: as_csv(report),
}
