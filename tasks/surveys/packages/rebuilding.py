"""Rebuild a survey from its package: check every file, compute the report again, compare it.

Everything is checked and computed in a folder beside the lake; the survey is stored by one
transaction afterwards, so that a package that is refused leaves nothing behind.
"""

import csv
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings
from django.db import IntegrityError, transaction

from cartography.ranges import read_ranges
from core.errors import BadInput, Unavailable
from core.files import replace_file, sync_file
from lake.packages import BLOCK_BYTES, PackageReader
from lake.parts import part_path
from lake.schemas import SCHEMAS
from tasks.surveys import derived, export, shard_run
from tasks.surveys.packages import manifest as form
from tasks.surveys.packages.manifest import Manifest, PackagedFile, PackagedRanges, parse_manifest
from webapp.store.models import RangeTable, Survey
from webapp.store.object_storage import files
from webapp.store.ranges.tables import raw_path
from webapp.store.surveys import external, services
from webapp.store.surveys.uploads import list_path

# Rows that are decoded at a time, and what they may take: an answer of DNS has at most 64 KiB.
_BATCH_ROWS, _MAX_BATCH_BYTES = 512, 256 << 20
# What the columns of one row group may take unpacked; parts of 500 domains take a hundredth.
_MAX_GROUP_BYTES = 1 << 30
_MAX_FOOTER_BYTES, _MAX_FOOTER_ITEMS = 64 << 20, 1_000_000
_MAX_RANGE_FILE_BYTES = 256 << 20
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,119}")
_NUMBER = re.compile(r"[0-9]{1,18}")
_DOMAIN = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A survey that was rebuilt, and the tables that are not those of the package."""

    slug: str
    differences: tuple[str, ...]
    made_by: str


def rebuild(stream: BinaryIO, slug: str = "", owner: Any = None) -> Rebuilt:
    """Store the survey of a package, and compare its report with the one in the package.

    It is public without an ``owner``. ``slug`` is another name in addresses than the package's.
    Raises ``BadInput`` that names the file of the package, and ``Unavailable`` without disk space.
    """
    shard_run.require_disk_space()
    reader = PackageReader(stream)
    manifest = parse_manifest(reader.read_manifest(form.MANIFEST, form.MAX_MANIFEST_BYTES))
    name = slug or manifest.survey.slug
    _check_free(name)
    _check_disk_space(manifest)
    with _staging() as folder:
        _unpack(reader, manifest, folder, name)
        _check_domains(folder / form.DOMAINS, manifest)
        packaged = _read_report(folder / form.REPORT)
        survey = _store(manifest, folder, name, owner)
    derived.try_index_survey(survey)
    differences = _compare(packaged, export.survey_document(name))
    return Rebuilt(name, differences, manifest.software.version)


@contextmanager
def _staging() -> Iterator[Path]:
    """A folder on the disk of the lake, which is removed at the end."""
    lake = Path(settings.LAKE_DIR)
    lake.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".package-", dir=lake) as folder:
        yield Path(folder)


def _check_free(slug: str) -> None:
    if not _SLUG.fullmatch(slug) or slug in services.RESERVED_SLUGS:
        raise BadInput(f"{slug!r} cannot be the name of a survey in addresses", field="slug")
    if Survey.objects.filter(slug=slug).exists() or _lake_folder(slug).exists():
        raise BadInput(f"there is a survey {slug} already; --slug NAME gives this one another name")


def _lake_folder(slug: str) -> Path:
    return Path(settings.LAKE_DIR) / slug


def _check_disk_space(manifest: Manifest) -> None:
    needed = sum(file.bytes for file in manifest.files)
    free = shutil.disk_usage(settings.LAKE_DIR).free - (settings.MIN_FREE_MB << 20)
    if needed > free:
        raise Unavailable(
            f"the package holds {needed >> 20:,} MiB, and the disk of the data folder has room for "
            f"{max(0, free) >> 20:,} MiB"
        )


def _unpack(reader: PackageReader, manifest: Manifest, folder: Path, slug: str) -> None:
    """Copy every file below ``folder``, the parts as a lake of one survey, and check each."""
    parts = manifest.parts()
    ranges = {table.path: table for table in manifest.range_tables}
    n_bytes = BLOCK_BYTES + _whole_blocks(len(manifest.to_bytes()))
    for file in manifest.files:
        n_bytes += BLOCK_BYTES + _whole_blocks(file.bytes)
        place = folder / file.path
        if file.path in parts:
            table, key, _ = parts[file.path]
            place = part_path(folder, slug, table, key)
        place.parent.mkdir(parents=True, exist_ok=True)
        reader.copy_member(file.path, file.bytes, file.sha256, place)
        if file.path in parts:
            _check_part(place, parts[file.path][0], file)
        elif file.path in ranges:
            _check_ranges(place, ranges[file.path], file)
    reader.finish(n_bytes)


def _whole_blocks(size: int) -> int:
    return size + -size % BLOCK_BYTES


def _check_part(path: Path, table: str, file: PackagedFile) -> None:
    """Compare columns and rows with the lake's, and read the part once in small batches."""
    try:
        with pq.ParquetFile(
            path,
            page_checksum_verification=True,
            thrift_string_size_limit=_MAX_FOOTER_BYTES,
            thrift_container_size_limit=_MAX_FOOTER_ITEMS,
        ) as part:
            _check_columns(part.schema_arrow, table, file)
            _check_sizes(part.metadata, file)
            for batch in part.iter_batches(_BATCH_ROWS, use_threads=False):
                if batch.nbytes > _MAX_BATCH_BYTES:
                    raise BadInput("its rows are larger than answers can be", field=file.path)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"is no sound Parquet file: {error}", field=file.path) from error


def _check_columns(found: pa.Schema, table: str, file: PackagedFile) -> None:
    known = SCHEMAS[table]
    if len(set(found.names)) != len(found.names):
        raise BadInput("has two columns of one name", field=file.path)
    for column in found:
        if column.name not in known.names:
            raise BadInput(f"has a column {column.name!r}, unknown in {table}", field=file.path)
        # Names of list items are no part of the comparison: Parquet has others than Arrow.
        if column.type != known.field(column.name).type:
            wanted = known.field(column.name).type
            raise BadInput(
                f"column {column.name!r} is {column.type} instead of {wanted}", field=file.path
            )


def _check_sizes(found: pq.FileMetaData, file: PackagedFile) -> None:
    if found.num_rows != file.rows:
        raise BadInput(f"has {found.num_rows:,} rows instead of {file.rows:,}", field=file.path)
    for number in range(found.num_row_groups):
        unpacked = found.row_group(number).total_byte_size
        if not 0 <= unpacked <= _MAX_GROUP_BYTES:
            raise BadInput(f"unpacks to {unpacked:,} bytes, which no part does", field=file.path)


def _check_ranges(path: Path, table: PackagedRanges, file: PackagedFile) -> None:
    if file.bytes > _MAX_RANGE_FILE_BYTES:
        raise BadInput(f"is larger than {_MAX_RANGE_FILE_BYTES:,} bytes", field=file.path)
    try:
        read_ranges(table.provider, path.read_bytes(), table.as_of)
    except BadInput as error:
        raise BadInput(str(error), field=file.path) from error


def _check_domains(path: Path, manifest: Manifest) -> None:
    """Check the accepted entries of the list (rank, domain, line), one by one."""
    line = 0
    try:
        with path.open(newline="", encoding="utf-8") as handle:
            for rank, domain, place in csv.reader(handle, strict=True):
                line += 1
                if not (_NUMBER.fullmatch(rank) and _NUMBER.fullmatch(place)):
                    raise ValueError("rank and line must be numbers")
                if not _DOMAIN.fullmatch(domain):
                    raise ValueError(f"{domain[:80]!r} is not a domain name")
    except (ValueError, csv.Error) as error:
        raise BadInput(f"line {line}: {error}", field=form.DOMAINS) from error
    if line != manifest.survey.n_domains:
        raise BadInput(
            f"has {line:,} domains instead of {manifest.survey.n_domains:,}", field=form.DOMAINS
        )
    if any(s.last > line for s in manifest.shards if s.is_of_list):
        raise BadInput("a shard ends behind the end of the domain list", field=form.MANIFEST)


def _read_report(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > form.MAX_REPORT_BYTES:
            raise ValueError(f"is larger than {form.MAX_REPORT_BYTES:,} bytes")
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict) or not isinstance(found.get("tables"), dict):
            raise ValueError("is no report of a survey")
    except (ValueError, RecursionError) as error:
        raise BadInput(str(error), field=form.REPORT) from error
    return found


def _store(manifest: Manifest, folder: Path, slug: str, owner: Any) -> Survey:
    """Compute the report, then store rows and files together or nothing."""
    shards, options = manifest.finished_shards, manifest.survey.options
    n_domains = manifest.survey.n_domains - manifest.lost_domains
    try:
        report = shard_run.compute_report(folder, slug, shards, n_domains)
        counts = shard_run.summarise(folder, slug, shards, options)
    except duckdb.Error as error:
        raise BadInput(f"the observations cannot be analysed: {error}") from error
    if "stages" in manifest.survey.summary:
        counts["stages"] = manifest.survey.summary["stages"]
    fields = dict(manifest.survey) | {"slug": slug, "summary": counts}
    fields["rejected"] = [row.model_dump() for row in manifest.survey.rejected]
    rows = [dict(shard) for shard in manifest.shards]
    with ExitStack() as undo:
        try:
            with transaction.atomic():
                tables = [_store_ranges(table, folder, undo) for table in manifest.range_tables]
                survey = external.store_rebuilt(
                    {**fields, "owner": owner, "maker": owner}, tables, rows
                )
                services.save_reports(survey, *report)
                _store_files(folder, slug, undo)
        except (IntegrityError, FileExistsError) as error:
            raise BadInput(f"there is a survey {slug} already") from error
        undo.pop_all()
    return survey


def _store_ranges(table: PackagedRanges, folder: Path, undo: ExitStack) -> RangeTable:
    path = raw_path(table.provider, table.sha256)
    if not path.exists():
        undo.callback(path.unlink, missing_ok=True)
    row = RangeTable(**dict(table), file_name=path.name)
    return external.find_or_store_ranges(row, (folder / table.path).read_bytes())


def _store_files(folder: Path, slug: str, undo: ExitStack) -> None:
    lake, domains = _lake_folder(slug), list_path(slug)
    if lake.exists() or domains.exists():
        raise FileExistsError
    (folder / slug).mkdir(exist_ok=True)
    undo.callback(shutil.rmtree, lake, ignore_errors=True)
    (folder / slug).rename(lake)
    undo.callback(domains.unlink, missing_ok=True)
    with replace_file(domains) as temporary:
        shutil.copyfile(folder / form.DOMAINS, temporary)
        files.publish(temporary, domains)
    for path in lake.glob("*/*.parquet"):
        sync_file(path)
        files.publish(path, path)


def _compare(packaged: dict[str, Any], rebuilt: dict[str, Any]) -> tuple[str, ...]:
    """What differs between two reports: tables, and other entries but the name."""
    rebuilt = json.loads(export.report_json(rebuilt))
    before, after = packaged["tables"], rebuilt["tables"]
    tables = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    others = {*packaged, *rebuilt} - {"tables", "campaign"}
    return tuple(sorted(tables | {k for k in others if packaged.get(k) != rebuilt.get(k)}))
