"""The manifest of a package: what the survey was, and each file with its size and SHA-256."""

import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.errors import BadInput
from core.release import VERSION
from core.statuses import SurveyState
from lake.packages import MAX_MEMBER_BYTES
from lake.schemas import IMPORTED_TABLES, SCHEMAS

MANIFEST, DOMAINS, REPORT = "manifest.json", "domains.csv", "report.json"
FORMAT = "nephoscope-survey"
# Of a million domains the manifest takes about 5 MB.
MAX_MANIFEST_BYTES = 64 << 20
MAX_REPORT_BYTES = 256 << 20
# Options of the crawl that determine how names were found; servers, files and contacts stay here.
SHOWN_OPTIONS = (
    *("axfr", "aaaa", "words", "nsec", "permutations", "case_mixing"),
    *("rate", "window", "retries", "timeout_s", "zone_rate", "vantages"),
)
_PART = re.compile(r"observations/([a-z_]{1,30})/([a-z0-9][a-z0-9.-]{0,39})\.parquet")
_Text = Annotated[str, Field(max_length=2_000)]
_Count = Annotated[int, Field(ge=0, le=2**53)]
_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PackagedFile(_Model):
    """One file of the package; ``rows`` of a Parquet file only."""

    path: Annotated[str, Field(max_length=100)]
    bytes: Annotated[int, Field(ge=0, le=MAX_MEMBER_BYTES)]
    sha256: _Sha256
    rows: _Count | None = None


class PackagedRanges(_Model):
    """A range table that addresses were mapped with, and the file that it was read from."""

    provider: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")]
    variant: Annotated[str, Field(max_length=32)]
    as_of: date
    origin: Annotated[str, Field(max_length=100)]
    sha256: _Sha256
    counts: dict[str, int]

    @property
    def path(self) -> str:
        """Path of the file in the package."""
        return ranges_name(self.provider, self.sha256)


class PackagedShard(_Model):
    """A slice of the list, or of the second pass: its rows per table, and its counters."""

    key: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,39}$")]
    first: Annotated[int, Field(ge=0, lt=2**31)]
    last: Annotated[int, Field(ge=0, lt=2**31)]
    state: Literal["done", "failed"]
    rows: dict[str, _Count]
    counters: dict[str, Any]
    finished_at: datetime | None

    @property
    def is_of_list(self) -> bool:
        """Whether it is a slice of the domain list."""
        return not self.key.startswith("v.")


class RejectedLine(_Model):
    """A line of the uploaded list that named no domain."""

    line: int | None
    text: _Text
    reason: _Text


class PackagedSurvey(_Model):
    """What the survey was; nothing of accounts, or of the machine that ran it."""

    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,119}$")]
    name: Annotated[str, Field(max_length=200)]
    state: Literal[SurveyState.FINISHED, SurveyState.PARTIAL]
    world: Annotated[str, Field(max_length=120)]
    options: dict[str, Any]
    list_sha256: _Sha256
    n_domains: Annotated[int, Field(ge=0, lt=2**31)]
    n_rejected: Annotated[int, Field(ge=0, lt=2**31)]
    n_duplicates: Annotated[int, Field(ge=0, lt=2**31)]
    rejected: Annotated[list[RejectedLine], Field(max_length=1_000)]
    notes: Annotated[list[_Text], Field(max_length=1_000)]
    estimated_queries: _Count
    summary: dict[str, Any]
    error: _Text
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime


class Software(_Model):
    """The program that wrote a package."""

    name: Literal["nephoscope"] = "nephoscope"
    version: Annotated[str, Field(max_length=40)] = VERSION


class Manifest(_Model):
    """All of ``manifest.json``."""

    format: Literal["nephoscope-survey"] = "nephoscope-survey"
    version: Literal[1] = 1
    software: Software
    survey: PackagedSurvey
    range_tables: Annotated[list[PackagedRanges], Field(max_length=1_000)]
    shards: list[PackagedShard]
    tables: dict[str, dict[str, str]]
    files: list[PackagedFile]

    @model_validator(mode="after")
    def _check_files(self) -> "Manifest":
        by_path = {file.path: file for file in self.files}
        paths = [file.path for file in self.files]
        if paths != sorted(set(paths)):
            raise ValueError("files must be sorted by path, each once")
        parts = self.parts()
        ranges = {table.path for table in self.range_tables}
        wanted = {DOMAINS, REPORT} | ranges
        for table in self.range_tables:
            if table.path in by_path and by_path[table.path].sha256 != table.sha256:
                raise ValueError(f"{table.path!r} is not the file of its range table")
        unknown = [path for path in paths if path not in wanted and path not in parts]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a file of a package")
        missing = (wanted | self._needed_parts()) - set(paths)
        if missing:
            raise ValueError(f"{min(missing)!r} is not among the files")
        return self

    def parts(self) -> dict[str, tuple[str, str, PackagedFile]]:
        """(table, shard, file) of each Parquet file that represents a finished shard, by path."""
        done = {shard.key: shard.rows for shard in self.shards if shard.state == "done"}
        found = {}
        for file in self.files:
            match = _PART.fullmatch(file.path)
            if match is None or match[1] not in SCHEMAS or file.rows is None:
                continue
            table, key = match.groups()
            if table in IMPORTED_TABLES or done.get(key, {}).get(table) == file.rows:
                found[file.path] = (table, key, file)
        return found

    def _needed_parts(self) -> set[str]:
        return {
            part_name(table, shard.key)
            for shard in self.shards
            if shard.state == "done"
            for table in shard.rows
            if table not in IMPORTED_TABLES
        }

    @property
    def finished_shards(self) -> list[str]:
        """Keys of the shards with parts that count."""
        return [shard.key for shard in self.shards if shard.state == "done"]

    @property
    def lost_domains(self) -> int:
        """Domains of shards that were given up."""
        lost = (s for s in self.shards if s.state == "failed" and s.is_of_list)
        return sum(shard.last - shard.first for shard in lost)

    def to_bytes(self) -> bytes:
        """The one way in which a manifest is written."""
        document = self.model_dump(mode="json")
        return (json.dumps(document, sort_keys=True, indent=1) + "\n").encode()


def ranges_name(provider: str, sha256: str) -> str:
    """Path of a range file in a package."""
    return f"ranges/{provider}/{sha256[:24]}.raw"


def part_name(table: str, key: str) -> str:
    """Path of a part of the lake in a package."""
    return f"observations/{table}/{key}.parquet"


def table_schemas() -> dict[str, dict[str, str]]:
    """The columns of each lake table with their Arrow types."""
    return {table: columns_of(schema) for table, schema in SCHEMAS.items()}


def columns_of(schema: pa.Schema) -> dict[str, str]:
    """Column names with their Arrow types."""
    return {field.name: str(field.type) for field in schema}


def parse_manifest(data: bytes) -> Manifest:
    """Parse and check a manifest; raises ``BadInput`` that names the field."""
    try:
        _check_format(json.loads(data))
        found = Manifest.model_validate_json(data)
    except ValidationError as error:
        raise BadInput(describe(error), field=MANIFEST) from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"is not a JSON document: {error}", field=MANIFEST) from error
    if found.to_bytes() != data:
        raise BadInput("is not written as a package's manifest is", field=MANIFEST)
    return found


def describe(error: ValidationError) -> str:
    """The first thing that is wrong, with its field."""
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"])
    words = first["msg"].removeprefix("Value error, ")
    return f"{place}: {words}" if place else words


def _check_format(document: Any) -> None:
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise BadInput(f"its format is not {FORMAT!r}", field=MANIFEST)
    if document.get("version") != 1:
        raise BadInput(
            f"is of version {document.get('version')!r}; this release reads version 1",
            field=MANIFEST,
        )
