"""Atomic Parquet parts: written under a temporary name, flushed, then renamed into place."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import Unavailable
from core.files import replace_file
from lake import columns
from lake.schemas import IMPORTED_TABLES, SCHEMAS
from lake.sorted_parts import Keys, damage_of, rows_of_keys, write_sorted


def part_path(root: Path, campaign: str, table: str, shard: str) -> Path:
    """Return the path of the one part of a shard: ``root/campaign/table/shard.parquet``."""
    return root / campaign / table / f"{shard}.parquet"


class Storage(Protocol):
    """Where parts are kept beside this machine's disk."""

    def publish(self, written: Path, path: Path) -> None:
        """Store a part that was written and is about to be renamed to ``path``."""

    def fetch_folder(self, folder: Path) -> None:
        """Bring the parts of a folder to this machine."""


_storage: list[Storage] = []


def set_storage(*storage: Storage) -> None:
    """Keep all parts that this process writes also there, and look for parts there."""
    _storage[:] = storage


def fetch_parts(root: Path, campaign: str, table: str) -> None:
    """Bring all parts of one table of one campaign to this machine, if they are elsewhere.

    Raises ``Damaged``, ``MissingData`` and ``Unavailable``.
    """
    for storage in _storage:
        storage.fetch_folder(root / campaign / table)


def write_part(path: Path, table: str, rows: Sequence[dict[str, Any]] | pa.Table) -> int:
    """Write one part of ``table``, from rows or whole columns, and return its row count.

    An existing part is replaced as a whole, so a shard that runs twice leaves one
    result. Raises ``Unavailable`` when the disk refuses; then no part and no debris is left.
    """
    # What a killed writer of this same part left behind; the shard's lease shows that it is gone.
    for debris in path.parent.glob(f".{path.name}.*.tmp"):
        debris.unlink(missing_ok=True)
    try:
        data = (
            rows
            if isinstance(rows, pa.Table)
            else pa.Table.from_pylist(list(rows), schema=SCHEMAS[table])
        )
        with replace_file(path) as temporary:
            write_sorted(table, data, temporary)
            for storage in _storage:
                storage.publish(temporary, path)
    except OSError as error:
        raise Unavailable(f"cannot write {path.name}: {error.strerror or error}") from error
    return len(rows)


# Of so few shards each part is looked for; a list of all parts of a survey takes longer.
_FEW_SHARDS = 8


def parts_of(
    root: Path, campaign: str, table: str, shards: Iterable[str] | None = None
) -> list[Path]:
    """Finished parts of one table of one campaign, in a stable order.

    ``shards`` limits them to the manifest's, but for tables that are brought from elsewhere.
    """
    fetch_parts(root, campaign, table)
    wanted = None if shards is None or table in IMPORTED_TABLES else set(shards)
    if wanted is not None and len(wanted) <= _FEW_SHARDS:
        paths = sorted(part_path(root, campaign, table, shard) for shard in wanted)
        return [path for path in paths if path.exists()]
    found = sorted((root / campaign / table).glob("*.parquet"))
    if wanted is None:
        return found
    return [path for path in found if path.name.removesuffix(".parquet") in wanted]


def read_part(path: Path, table: str) -> pa.Table:
    """A whole part in the form of ``FILE_SCHEMAS``, parts of older versions included."""
    found = pq.read_table(path, schema=SCHEMAS[table])
    if table != "lookups":
        return found
    return found.append_column("addresses", columns.addresses_of(found["answers"]))


def verify(paths: Iterable[Path]) -> None:
    """Compare parts with the checksums of their pages; raises ``Damaged`` naming the first.

    DuckDB does not look at checksums, and reads most changed octets as other values. A part is
    read for this once in a process, about 70 CPU ms for a million rows of three columns.
    """
    for path in paths:
        about = path.stat()
        state = (about.st_mtime_ns, about.st_size)
        if _verified.get(path) == state:
            continue
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as part:
                for group in range(part.num_row_groups):
                    part.read_row_group(group, use_threads=False)
        except (OSError, pa.ArrowException) as error:
            raise damage_of(path, error) from error
        if len(_verified) >= _MOST_VERIFIED:
            _verified.clear()
        _verified[path] = state


# Parts that were compared, by the time and size that they had then.
_verified: dict[Path, tuple[int, int]] = {}
_MOST_VERIFIED = 20_000
# A page looks for few rows in all parts of a survey; more than this it does not read for them.
_MOST_FOR_PAGES = 16_000_000


def sql_list(paths: Iterable[Path]) -> str:
    """Paths as a list of SQL texts."""
    return "[" + ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths) + "]"


@lru_cache(maxsize=1)
def _shared() -> duckdb.DuckDBPyConnection:
    # Opening a database takes longer than a small query; one thread, since a page has one core.
    return duckdb.connect(":memory:", config={"threads": 1})


def open_few(
    root: Path,
    campaign: str,
    tables: Sequence[str],
    shards: Iterable[str] | None = None,
    keys: Keys | None = None,
) -> duckdb.DuckDBPyConnection:
    """As ``open_views``, for a quick look into some ``tables``: nothing may be created in it.

    ``keys`` are the wanted domains and names: of sorted parts, the views have no rows of others.
    """
    cursor = _shared().cursor()
    wanted = None if shards is None else set(shards)
    for table in tables:
        paths = parts_of(root, campaign, table, wanted)
        rows = None if keys is None else rows_of_keys(paths, keys)
        if rows is not None:
            cursor.register(table, rows)
            continue
        if sum(path.stat().st_size for path in paths) <= _MOST_FOR_PAGES:
            verify(paths)
        if paths:
            source = f"SELECT * FROM read_parquet({sql_list(paths)})"
            cursor.execute(f"CREATE TEMP VIEW {table} AS {source}")
        else:
            cursor.register(table, SCHEMAS[table].empty_table())
    return cursor


def read_few(
    root: Path, campaign: str, tables: Sequence[str], shards: Iterable[str] | None, keys: Keys
) -> list[pa.Table] | None:
    """The rows of wanted domains and names of some ``tables``; ``None`` unless all are sorted."""
    wanted, found = None if shards is None else set(shards), []
    for table in tables:
        rows = rows_of_keys(parts_of(root, campaign, table, wanted), keys)
        if rows is None:
            return None
        found.append(rows)
    return found


def open_views(
    root: Path, campaign: str, shards: Iterable[str] | None = None, memory_mb: int = 1024
) -> duckdb.DuckDBPyConnection:
    """An in-memory DuckDB connection with one view per lake table of ``campaign``.

    ``shards`` limits the views to the shards of the manifest; a table without a part is an
    empty view with the right columns, so queries need no special case. Raises ``Damaged``.
    """
    connection = duckdb.connect(":memory:")
    connection.execute(f"SET memory_limit = '{memory_mb}MB'")
    wanted = None if shards is None else set(shards)
    for table, schema in SCHEMAS.items():
        paths = parts_of(root, campaign, table, wanted)
        verify(paths)
        if paths:
            connection.read_parquet([str(path) for path in paths]).create_view(table)
        else:
            connection.register(table, schema.empty_table())
    return connection
