"""Runs of Zeek's text form as columns of text: unset is null, and unusable rows are counted.

Splitting is Arrow's; what a column means is decided in ``cartography.traffic.lake_rows``.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from numpy.typing import NDArray

from cartography.traffic.error_counts import ErrorCounts
from cartography.traffic.readers.log_kinds import FIELDS, NEEDED, find_kind
from cartography.traffic.readers.zeek_headers import Header, Run

NO_HEADER = "no header above"
OTHER_LOG = "another kind of log"
NO_ADDRESSES = "the log has no columns of addresses"
COLUMNS = "wrong number of columns"
CUT = "cut off"
NOT_UTF8 = "not UTF-8"
_SETS = ("service", "san.dns", "cert_chain_fuids", "cert_chain_fps")


def read_run(run: Run, tally: ErrorCounts, is_cut: bool) -> tuple[str, pa.Table | None]:
    """The kind of a run and its rows as text, with their ``line``; no table where it is of no use.

    ``is_cut`` means that the last line has no end, so that its last field may be incomplete.
    """
    kind = find_kind(run.header.path, run.header.fields)
    reason = _skip_reason(kind, run.header)
    if reason:
        tally.add(reason, run.lines[:5].tolist(), len(run.lines))
        return kind, None
    data, lines = run.data, run.lines
    if is_cut and _is_last_line_cut(kind, run):
        tally.add(CUT, lines[-1:].tolist())
        data, lines = data[: data.rfind(b"\n") + 1], lines[:-1]
    data, lines = drop_unreadable(data, lines, tally)
    # Arrow takes it for the end of a line.
    data = data.replace(b"\r", b"\\x0d") if b"\r" in data else data
    table, lines = _split(kind, run.header, data, lines, tally)
    table = _normalize_set_separator(table, run.header.set_separator)
    return kind, table.append_column("line", pa.array(lines))


def _skip_reason(kind: str, header: Header) -> str:
    if not header.fields:
        return NO_HEADER
    if kind not in FIELDS:
        return OTHER_LOG
    return "" if set(NEEDED[kind]) <= set(header.fields) else NO_ADDRESSES


def _normalize_set_separator(table: pa.Table, separator: str) -> pa.Table:
    """Replace the set separator of a log by a comma."""
    for name in {*_SETS} & {*table.column_names} if separator != "," else ():
        own = pc.replace_substring(table[name], separator, ",")
        table = table.set_column(table.column_names.index(name), name, own)
    return table


def _is_last_line_cut(kind: str, run: Run) -> bool:
    """Return whether the last line lacks columns, or may be cut within its last column."""
    fields = run.header.fields
    last = run.data[run.data.rfind(b"\n") + 1 :]
    short = last.count(run.header.separator.encode()) < len(fields) - 1
    return short or fields[-1] in FIELDS[kind]


def drop_unreadable(
    data: bytes, lines: NDArray[np.int64], tally: ErrorCounts
) -> tuple[bytes, NDArray[np.int64]]:
    """The lines that are UTF-8; nearly always all of them, which takes no second look."""
    if data.isascii():
        return data, lines
    try:
        data.decode()
    except UnicodeDecodeError:
        rows = data.split(b"\n")[: len(lines)]
        good = np.array([_is_utf8(row) for row in rows])
        tally.add(NOT_UTF8, lines[~good].tolist())
        kept = [row for row, fine in zip(rows, good.tolist(), strict=True) if fine]
        return b"\n".join(kept), lines[good]
    return data, lines


def _is_utf8(row: bytes) -> bool:
    try:
        row.decode()
    except UnicodeDecodeError:
        return False
    return True


def _split(
    kind: str, header: Header, data: bytes, lines: NDArray[np.int64], tally: ErrorCounts
) -> tuple[pa.Table, NDArray[np.int64]]:
    bad: list[int] = []

    def skip(row: Any) -> str:
        bad.append(row.number - 1)
        return "skip"

    wanted = pa.schema([(name, pa.string()) for name in FIELDS[kind]])
    try:
        table = csv.read_csv(
            pa.py_buffer(data),
            csv.ReadOptions(
                column_names=header.fields, use_threads=False, block_size=len(data) + 1
            ),
            csv.ParseOptions(
                delimiter=header.separator,
                quote_char=False,
                double_quote=False,
                ignore_empty_lines=False,
                invalid_row_handler=skip,
            ),
            csv.ConvertOptions(
                check_utf8=False,
                column_types=wanted,
                include_columns=wanted.names,
                include_missing_columns=True,
                null_values=[header.unset, header.empty],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        # Arrow has no name for a file without a single usable row.
        tally.add(COLUMNS, lines[:5].tolist(), len(lines))
        return wanted.empty_table(), lines[:0]
    tally.add(COLUMNS, lines[bad[:5]].tolist(), len(bad))
    return table, np.delete(lines, bad) if bad else lines
