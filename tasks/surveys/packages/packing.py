"""Write a survey's raw data as a package, and describe it on its page."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from django.conf import settings
from pydantic import ValidationError

from core.errors import BadInput, Damaged, MissingData, reason_of
from core.files import replace_file, write_text
from core.release import VERSION
from core.statuses import SurveyState
from lake.packages import Member, member_of, package_bytes, write_package
from lake.parts import part_path, parts_of
from lake.schemas import IMPORTED_TABLES, SCHEMAS
from tasks.surveys import export
from tasks.surveys.packages import manifest as form
from tasks.surveys.packages.manifest import Manifest, PackagedFile
from webapp.store.models import RangeTable, Shard, Survey
from webapp.store.object_storage import files
from webapp.store.ranges.tables import raw_path
from webapp.store.surveys import derived
from webapp.store.surveys.external import published_origin
from webapp.store.surveys.uploads import list_path

_COUNTERS = (
    "domains_done",
    "queries",
    "answered",
    "found",
    "resolved",
    "cloud",
    "failed",
    "stages",
)
_ROW_IS = {
    "lookups": "a DNS query with its answer or failure",
    "domains": "a domain with counts of its queries",
    "placements": "a name and address with provider and region",
    "fronts": "a name with a pattern of its front end",
    "servers": "a name server and address of a domain",
    "vantage_lookups": "a query repeated from a vantage point",
    "audit_lookups": "a query for CAA, DS or MX",
    "zones": "an address with its availability zone",
    "customers": "a domain and a country of its customers",
}
# What a manifest takes, about: in any case, and for each file with its share of a shard.
_MANIFEST_BYTES = (5_000, 250)
# (modified at, in ns; size; SHA-256) of a file
_Hash = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Package:
    """A package that can be written: its file name, size, digest of the manifest, and members."""

    file_name: str
    size: int
    digest: str
    members: tuple[Member, ...]

    def chunks(self, first: int = 0) -> Iterator[bytes]:
        """The bytes from ``first`` on; raises ``Damaged`` where a file changes meanwhile."""
        return write_package(self.members, first)


@dataclass(frozen=True, slots=True)
class PackedTable:
    """A lake table in a package."""

    name: str
    rows: int
    row_is: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What a package holds, without reading the observations."""

    size: int
    tables: tuple[PackedTable, ...]
    n_files: int
    file_name: str
    release: str = VERSION


def is_packageable(state: str) -> bool:
    """Whether a survey has ended with a report."""
    return state in (SurveyState.FINISHED, SurveyState.PARTIAL)


def open_package(survey: Survey) -> Package:
    """The package of a survey that ended with a report.

    Raises ``BadInput`` for one without, ``MissingData`` and ``Damaged`` where files are gone.
    """
    if not is_packageable(survey.state):
        raise BadInput(f"survey {survey.slug} is {survey.state}: it has no report to package")
    sources = _sources(survey)
    sources[form.REPORT] = export.report_json(export.survey_document(survey.slug))
    manifest = _manifest(survey, sources)
    data = manifest.to_bytes()
    names = [form.MANIFEST, *(file.path for file in manifest.files)]
    members = tuple(member_of(name, sources.get(name, data)) for name in names)
    digest = hashlib.sha256(data).hexdigest()
    return Package(_file_name(survey.slug), package_bytes(members), digest, members)


def write_to(survey: Survey, path: Path) -> Package:
    """Write a package to a file, which is replaced in one step; raises as ``open_package``."""
    package = open_package(survey)
    with replace_file(path) as temporary, temporary.open("wb") as handle:
        handle.writelines(package.chunks())
    return package


def describe(survey: Survey) -> Contents:
    """What a package holds; its size is an estimate, since the manifest is not made."""
    shards = survey.shards.filter(state=Shard.State.DONE).values_list("rows", flat=True)
    rows: Counter[str] = Counter()
    for counts in shards:
        rows.update(counts)
    made = survey.reports.order_by("-computed_at").values_list("computed_at", flat=True).first()
    members = [Member(form.REPORT, _report_bytes(survey.slug, made), b"")]
    for name, path in _sources(survey).items():
        members.append(member_of(name, path))
        table = name.split("/")[1] if name.startswith("observations/") else ""
        if table in IMPORTED_TABLES:
            rows[table] += pq.read_metadata(path).num_rows
    fixed, each = _MANIFEST_BYTES
    members.append(Member(form.MANIFEST, fixed + each * len(members), b""))
    tables = (PackedTable(table, rows[table], _ROW_IS[table]) for table in SCHEMAS if rows[table])
    return Contents(package_bytes(members), tuple(tables), len(members), _file_name(survey.slug))


@lru_cache(maxsize=512)
def _report_bytes(slug: str, computed_at: datetime | None) -> int:
    """The size of a report, until its tables are computed again."""
    return len(export.report_json(export.survey_document(slug)))


def _file_name(slug: str) -> str:
    return f"{slug}.nephoscope.tar"


def _sources(survey: Survey) -> dict[str, bytes | Path]:
    """Every stored file of the package by its name; raises ``Damaged`` where a part is gone."""
    root, slug = Path(settings.LAKE_DIR), survey.slug
    found: dict[str, bytes | Path] = {form.DOMAINS: list_path(slug)}
    for row in _tables(survey):
        path = raw_path(row.provider, row.sha256)
        files.fetch(path)
        found[form.ranges_name(row.provider, row.sha256)] = path
    files.fetch(list_path(slug))
    files.fetch_all(root / slug)
    done = survey.shards.filter(state=Shard.State.DONE).values_list("key", "rows")
    for key, rows in done:
        for table in rows:
            if table not in IMPORTED_TABLES:
                found[form.part_name(table, key)] = part_path(root, slug, table, key)
    for table in IMPORTED_TABLES:
        for path in parts_of(root, slug, table):
            found[form.part_name(table, path.stem)] = path
    return found


def _tables(survey: Survey) -> list[RangeTable]:
    return sorted(survey.range_tables.all(), key=lambda row: (row.provider, row.as_of, row.sha256))


def _manifest(survey: Survey, sources: dict[str, bytes | Path]) -> Manifest:
    hashes = _Hashes(survey)
    files = [_file(name, sources[name], hashes) for name in sorted(sources)]
    hashes.save()
    shards = survey.shards.filter(state__in=(Shard.State.DONE, Shard.State.FAILED))
    try:
        return Manifest.model_validate(
            {
                "software": {},
                "survey": _survey(survey),
                "range_tables": [_ranges(row) for row in _tables(survey)],
                "shards": [_shard(shard) for shard in shards.order_by("first", "key")],
                "tables": form.table_schemas(),
                "files": files,
            }
        )
    except ValidationError as error:
        # Rows of the store and files on the disk do not agree.
        raise Damaged(f"the survey cannot be packaged: {form.describe(error)}") from error


def _survey(survey: Survey) -> dict[str, Any]:
    names = form.PackagedSurvey.model_fields
    options = {key: survey.options[key] for key in form.SHOWN_OPTIONS if key in survey.options}
    found = {name: getattr(survey, name) for name in names} | {"options": options}
    rejected = [
        {key: row.get(key) for key in ("line", "text", "reason")} for row in survey.rejected
    ]
    return found | {"rejected": rejected}


def _ranges(row: RangeTable) -> dict[str, Any]:
    fields = ("provider", "variant", "as_of", "sha256", "counts")
    return {name: getattr(row, name) for name in fields} | {"origin": published_origin(row)}


def _shard(shard: Shard) -> dict[str, Any]:
    fields = ("key", "first", "last", "state", "rows", "finished_at")
    counters = {key: shard.counters[key] for key in _COUNTERS if key in shard.counters}
    return {name: getattr(shard, name) for name in fields} | {"counters": counters}


def _file(name: str, source: bytes | Path, hashes: "_Hashes") -> PackagedFile:
    if isinstance(source, bytes):
        digest = hashlib.sha256(source).hexdigest()
        return PackagedFile(path=name, bytes=len(source), sha256=digest)
    try:
        rows = pq.read_metadata(source).num_rows if name.endswith(".parquet") else None
        size, digest = hashes.hash(source)
    except FileNotFoundError as error:
        raise MissingData(f"{name} is gone from the data folder; it cannot be packaged") from error
    except OSError as error:
        raise Damaged(f"{name} cannot be read: {reason_of(error)}") from error
    return PackagedFile(path=name, bytes=size, sha256=digest, rows=rows)


class _Hashes:
    """SHA-256 of files, kept beside the derived files until the files change."""

    def __init__(self, survey: Survey) -> None:
        self._path = derived.root() / survey.slug / "sha256.json"
        try:
            self._known: dict[str, Sequence[Any]] = json.loads(self._path.read_text())
        except (OSError, ValueError):
            self._known = {}
        self._used: dict[str, _Hash] = {}

    def hash(self, path: Path) -> tuple[int, str]:
        """Size and SHA-256 of a file; raises ``OSError``."""
        about = path.stat()
        known = self._known.get(str(path), (0, 0, ""))
        if tuple(known[:2]) == (about.st_mtime_ns, about.st_size):
            digest = str(known[2])
        else:
            with path.open("rb") as handle:
                digest = hashlib.file_digest(handle, "sha256").hexdigest()
        self._used[str(path)] = (about.st_mtime_ns, about.st_size, digest)
        return about.st_size, digest

    def save(self) -> None:
        """Keep what was requested."""
        if self._used != {key: tuple(value) for key, value in self._known.items()}:
            write_text(self._path, json.dumps(self._used))
