"""Logs in, flows in the lake out: each file read once, in blocks, and accounted for."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from cartography.traffic.anonymization import Pseudonymizer
from cartography.traffic.import_report import LogReport
from cartography.traffic.lake_rows import Reading, read_rows
from cartography.traffic.readers.line_blocks import Source
from cartography.traffic.readers.pcap import is_capture
from cartography.traffic.readers.zeek_headers import Header, split_runs
from cartography.traffic.readers.zeek_json import ObjectReader
from cartography.traffic.readers.zeek_rows import read_run
from cartography.traffic.table_by_date import TablesByDate
from cartography.traffic.tcp_sessions import Sessions
from lake.traffic import FlowWriter

# A log of tables as rows of text, by kind.
LogTables = Iterator[tuple[str, pa.Table]]


class FlowImport:
    """One import: any number of files into one folder of the lake."""

    def __init__(
        self,
        writer: FlowWriter,
        calendar: TablesByDate,
        pseudonyms: Pseudonymizer,
        count_bytes: Callable[[int, int], None] | None = None,
    ) -> None:
        self.writer, self._calendar, self._pseudonyms = writer, calendar, pseudonyms
        # Of all files, packed and unpacked; an error that it raises ends the import.
        self._count_bytes = count_bytes
        self.accounts: list[LogReport] = []

    def read(self, path: Path, name: str = "") -> LogReport:
        """Read one log or capture; raises ``BadInput`` when the file cannot be opened."""
        source = Source(path, self._count_bytes)
        head = source.head()
        is_packets = is_capture(head)
        if is_packets:
            pieces = Sessions(len(self.accounts)).read(source)
        else:
            pieces = (
                _json_log_tables(source)
                if head.lstrip().startswith(b"{")
                else _text_log_tables(source)
            )
        account = LogReport(name or str(path), source.tally, is_packets)
        self._import_tables(account, source, pieces)
        account.damage = source.damage
        return account

    def _import_tables(self, account: LogReport, source: Source, pieces: LogTables) -> None:
        self.accounts.append(account)
        for kind, raw in pieces:
            if not raw.num_rows:
                continue
            for (atlas, addresses), rows in self._calendar.split(raw):
                log = len(self.accounts) - 1
                reading = Reading(atlas, addresses, self._pseudonyms, log, source.tally)
                typed = read_rows(kind, rows, reading)
                account.add(kind, typed, self._calendar.providers)
                if typed.lake.num_rows:
                    self.writer.write(kind, typed.lake)


def _text_log_tables(source: Source) -> LogTables:
    """Rows of Zeek's text form."""
    header = Header()
    for block in source.blocks():
        for after, run in split_runs(block, header):
            header = after
            if run is not None:
                is_last = bool(run.lines[-1] == block.lines[-1])
                kind, table = read_run(run, source.tally, block.ends_open and is_last)
                if table is not None:
                    yield kind, table


def _json_log_tables(source: Source) -> LogTables:
    """Rows of Zeek's JSON form."""
    reader = ObjectReader()
    for block in source.blocks():
        yield from reader.read(block, source.tally)
