"""Import names from the user's lists, sorted by surveyed domain.

A list is read once for a whole survey, block by block. Only names in surveyed domains are stored;
everything else is counted, each bad line with its number and reason.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import BadInput
from core.records import Rejection
from core.statuses import Technique
from crawlers.engine.engine import Engine
from crawlers.sources.base import Harvest, Zone
from crawlers.sources.hostnames import clean_host
from crawlers.sources.lists.line_blocks import Block, BlockFile
from crawlers.sources.lists.list_formats import FORMS, Csv, Form, Found, Json, Text, guess_form
from crawlers.sources.lists.names_by_domain import NamesByDomain
from crawlers.sources.zone_files import ZoneFile

MAX_OCTETS = 16 * 1024**3
# More names than any zone was ever seen to have; the bound is for what a zone costs to ask.
MAX_NAMES_PER_ZONE = 1_000_000
# Rejections are shown to a person; past this many only their number is kept.
KEPT_REJECTIONS = 1_000
_NAME_CHARS = b"abcdefghijklmnopqrstuvwxyz0123456789-_.\n"
# Where a block contains none of these, each line is a row of whole labels.
_ODD_PLACES = (b"..", b".-", b"-.", b"\n-", b"-\n", b"\n.", b".\n", b"\n\n")
_ENDS_IN_NUMBER = re.compile(rb"\.[0-9]+\n")
_LONGEST_SURE = 63


@dataclass(frozen=True, slots=True)
class ImportConfig:
    """Which files, and how to read them: by default the form and field are found out.

    ``form`` is one of text, csv, json or zone; ``field`` is a CSV column or JSON field;
    ``origin`` completes relative names of zone files.
    """

    paths: tuple[Path, ...]
    form: str = ""
    field: str = ""
    origin: str = ""
    max_octets: int = MAX_OCTETS
    max_names_per_zone: int = MAX_NAMES_PER_ZONE


@dataclass(slots=True)
class ImportReport:
    """The result of one file; entries = names + absent + bad; names outside are counted.

    ``status`` is "OK", "TRUNCATED" where gzip or JSON broke off, or "BUDGET". ``absent`` are
    rows that report the name as not existing.
    """

    path: str
    form: str
    status: str = "OK"
    lines: int = 0
    octets: int = 0
    names: int = 0
    outside: int = 0
    absent: int = 0
    bad: int = 0
    rejected: list[Rejection] = field(default_factory=list)

    def reject(self, found: Found, reason: str) -> None:
        """Count a bad entry, and keep the first ones with their lines."""
        self.bad += 1
        if len(self.rejected) < KEPT_REJECTIONS:
            shown = found.text[:100].encode("utf-8", "replace").decode("utf-8")
            self.rejected.append(Rejection(found.line, shown, reason))


@dataclass(frozen=True, slots=True)
class Imported:
    """Names of a survey's domains from lists; ``reports`` has one entry per file."""

    imported_names: NamesByDomain
    reports: tuple[ImportReport, ...]

    def names_of(self, domain: str) -> tuple[str, ...]:
        """Names in the domain without repeats, in the order of the lists."""
        return self.imported_names.names_of(domain)

    def status_of(self, domain: str) -> str:
        """ "OK", or why names of the domain may be missing."""
        if self.imported_names.is_over(domain):
            return "BUDGET"
        return next((r.status for r in self.reports if r.status != "OK"), "OK")


@dataclass(frozen=True, slots=True)
class Imports:
    """Names from the user's lists, without the domain itself; sends no query."""

    imported: Imported

    technique = Technique.IMPORT
    is_zone_data = False

    def harvest(self, zones: Sequence[Zone], engine: Engine) -> Iterator[Harvest]:
        """One harvest per zone."""
        for zone in zones:
            status = self.imported.status_of(zone.domain)
            # The domain is queried in any case.
            names = (n for n in self.imported.names_of(zone.domain) if n != zone.domain)
            yield Harvest(zone.domain, status, tuple(names), complete=status == "OK")


def collect_names(config: ImportConfig, domains: Iterable[str]) -> Imported:
    """Read all lists for these domains; raises ``BadInput``, ``MissingData`` for unusable files."""
    if config.form and config.form not in FORMS:
        raise BadInput(f"{config.form!r} is not a form; use {', '.join(FORMS)}", field="form")
    imported_names = NamesByDomain(domains, config.max_names_per_zone)
    return Imported(
        imported_names, tuple(_read_file(path, config, imported_names) for path in config.paths)
    )


def _read_file(path: Path, config: ImportConfig, imported_names: NamesByDomain) -> ImportReport:
    file = BlockFile(path, config.max_octets)
    reader: _Reader | None = None
    for block in file.blocks():
        if reader is None:
            form = config.form or guess_form(block.data)
            reader = _Reader(ImportReport(path.name, form), imported_names, _form_of(form, config))
        reader.read_block(block)
    if reader is None:
        return ImportReport(path.name, config.form or "text", file.status)
    reader.finish()
    report = reader.report
    report.octets = file.octets
    report.status = file.status if file.status != "OK" else report.status
    return report


def _form_of(form: str, config: ImportConfig) -> Form:
    if form == "csv":
        return Csv(config.field)
    if form == "json":
        return Json(config.field)
    return ZoneFile(config.origin) if form == "zone" else Text()


class _Reader:
    """One file on its way: clean blocks of text at once, everything else entry by entry."""

    def __init__(self, report: ImportReport, imported_names: NamesByDomain, form: Form) -> None:
        self.report = report
        self._names = imported_names
        self._form = form
        self._is_text = isinstance(form, Text)

    def read_block(self, block: Block) -> None:
        self.report.lines += block.data.count(b"\n") + (not block.data.endswith(b"\n"))
        names = _clean_names(block.data) if self._is_text else None
        if names is None:
            names = list(self._accepted(self._form.read(block)))
        self._add(names)

    def finish(self) -> None:
        left = self.report.bad
        self._add(list(self._accepted(self._form.finish())))
        if self.report.bad > left:
            self.report.status = "TRUNCATED"

    def _add(self, names: list[bytes]) -> None:
        self.report.names += len(names)
        self.report.outside += self._names.add(names)

    def _accepted(self, entries: Iterable[Found]) -> Iterator[bytes]:
        for found in entries:
            if found.reason:
                self._refuse(found)
                continue
            try:
                yield clean_host(found.text).encode()
            except BadInput as error:
                self.report.reject(found, str(error))

    def _refuse(self, found: Found) -> None:
        if found.reason == "NXDOMAIN":
            self.report.absent += 1
        else:
            self.report.reject(found, found.reason)


def _clean_names(data: bytes) -> list[bytes] | None:
    """The lines of a block where all of them are plain names, by a few passes over the whole."""
    text = data.replace(b"\r\n", b"\n").lower()
    if not text.endswith(b"\n"):
        text += b"\n"
    if text.translate(None, _NAME_CHARS) or text[:1] in (b"-", b".", b"\n"):
        return None
    if any(odd in text for odd in _ODD_PLACES) or _ENDS_IN_NUMBER.search(text):
        return None
    names = text[:-1].split(b"\n")
    if max(map(len, names)) > _LONGEST_SURE or not all(b"." in name for name in names):
        return None
    return names
