"""Schemas of an import's traffic tables, and a writer that appends to one part in many pieces.

Only rows with an end in a cloud are kept; clients are pseudonyms.
"""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import Unavailable

_TEXT = pa.dictionary(pa.int32(), pa.string())
# One row of any log that has two ends.
_SIDES: list[tuple[str, pa.DataType]] = [
    ("log", pa.int16()),
    # What joins the logs: Zeek's uid, or both ends with their ports where it is masked.
    ("key", pa.string()),
    ("provider", _TEXT),
    ("region", _TEXT),
    ("kind", _TEXT),
    # Whether the client opened the connection towards the cloud.
    ("toward", pa.bool_()),
    ("inside", pa.bool_()),
    ("client", pa.string()),
    ("server", pa.string()),
    ("port", pa.int32()),
    ("hour", pa.int32()),
]


def _named(prefix: str = "") -> list[tuple[str, pa.DataType]]:
    return [(f"{prefix}{field}", pa.string()) for field in ("name", "domain", "reason")]


FLOW_SCHEMAS: dict[str, pa.Schema] = {
    "conn": pa.schema(
        [
            *_SIDES,
            ("transport", _TEXT),
            ("service", _TEXT),
            ("ip_bytes", pa.int64()),
            ("payload_bytes", pa.int64()),
            ("missed_bytes", pa.int64()),
            ("packets", pa.int64()),
        ]
    ),
    "http": pa.schema([*_SIDES, *_named(), ("body_bytes", pa.int64())]),
    "ssl": pa.schema(
        [
            *_SIDES,
            *_named(),
            *_named("subject_"),
            ("fuid", pa.string()),
            ("fingerprint", pa.string()),
        ]
    ),
    "dns": pa.schema([*_SIDES, ("transport", _TEXT), *_named()]),
    "x509": pa.schema(
        [("fuid", pa.string()), ("fingerprint", pa.string()), *_named(), *_named("san_")]
    ),
}


class FlowWriter:
    """Parts of one import, one file for each kind, written as rows come."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._writers: dict[str, pq.ParquetWriter] = {}

    def write(self, kind: str, rows: pa.Table) -> None:
        """Append rows; raises ``Unavailable`` when the disk refuses."""
        try:
            if kind not in self._writers:
                self._writers[kind] = pq.ParquetWriter(
                    self.folder / f"{kind}.parquet", FLOW_SCHEMAS[kind], compression="zstd"
                )
            self._writers[kind].write_table(rows)
        except OSError as error:
            raise Unavailable(f"cannot write flows: {error.strerror or error}") from error

    def close(self) -> None:
        """End the parts; the creator of the folder publishes or removes it."""
        for writer in self._writers.values():
            writer.close()
        self._writers = {}


def open_flows(folder: Path, memory_mb: int = 1024) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with one view per kind; a kind without rows is an empty view.

    What does not fit into ``memory_mb`` is spilled into ``.spill`` of the folder.
    """
    connection = duckdb.connect(":memory:")
    connection.execute(f"SET memory_limit = '{memory_mb}MB'")
    connection.execute("SET preserve_insertion_order = false")
    connection.execute(f"SET temp_directory = '{str(folder / '.spill').replace(chr(39), '')}'")
    for kind, schema in FLOW_SCHEMAS.items():
        path = folder / f"{kind}.parquet"
        if path.is_file():
            connection.read_parquet(str(path)).create_view(kind)
        else:
            connection.register(kind, schema.empty_table())
    return connection
