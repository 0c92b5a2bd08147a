"""Documents of a stored audit in every output format, and the findings that were not exported."""

from collections.abc import Mapping

from audits.output.document import parse_report
from audits.output.locations import ListLocation
from core.errors import BadInput
from tasks.audits.command import FORMAT_NAMES, render
from webapp.store.audits import findings, selectors
from webapp.store.models import Audit
from webapp.store.surveys.uploads import list_path, load_entries

# Content type and file suffix of every format.
MEDIA: Mapping[str, tuple[str, str]] = {
    "json": ("application/json", "json"),
    "sarif": ("application/sarif+json", "sarif"),
    "sarif-github": ("application/sarif+json", "sarif"),
    "junit": ("application/xml", "xml"),
    "gitlab": ("application/json", "gitlab.json"),
    "markdown": ("text/markdown; charset=utf-8", "md"),
    "csv": ("text/csv; charset=utf-8", "csv"),
}
_MAX_PATH_CHARACTERS = 400


def negotiate(accept: str) -> str:
    """The format that an ``Accept`` header prefers; JSON where it names none.

    Types with equal weight are served in the order of the header (RFC 9110, section 12.5.1).
    """
    wanted = []
    for i, item in enumerate(accept.split(",")):
        kind, *parameters = (part.strip().lower() for part in item.split(";"))
        weight = next((p[2:] for p in parameters if p.startswith("q=")), "1")
        try:
            wanted.append((-float(weight), i, kind))
        except ValueError:
            continue
    for weighted, _, kind in sorted(wanted):
        found = _BY_TYPE.get(kind)
        if found and weighted:
            return found
    return "json"


_BY_TYPE = {kind.partition(";")[0]: name for name, (kind, _) in reversed(list(MEDIA.items()))} | {
    "application/sarif+json": "sarif",
    "text/xml": "junit",
}


def render_stored(row: Audit, form: str, path: str = "") -> str:
    """The report of an ended audit in one of ``FORMAT_NAMES``.

    ``path`` is the domain list's in the repository of the client, in which findings are anchored.
    Raises ``BadInput`` before it has ended, and ``Damaged``.
    """
    if form not in FORMAT_NAMES:
        raise BadInput(f"must be one of {', '.join(FORMAT_NAMES)}", field="format")
    if row.state not in selectors.JUDGED:
        raise BadInput(f"the audit is {row.state}: it has no report")
    if len(path) > _MAX_PATH_CHARACTERS:
        raise BadInput(f"at most {_MAX_PATH_CHARACTERS} characters", field="list_path")
    report = parse_report(findings.read_document(row))
    return render(report, form, _location(row, path or row.list_path or "domains.txt"))


def _location(row: Audit, path: str) -> ListLocation:
    """The lines of the domains, as far as the list of the survey is still there."""
    survey = row.survey
    if survey is None or not list_path(survey.slug).exists():
        return ListLocation(path)
    entries = load_entries(survey.slug, 0, survey.n_domains)
    return ListLocation(path, {entry.domain: entry.line for entry in entries if entry.line})
