"""Import traffic logs: write flows to the lake, and a report.

``packets`` of the data folder holds one folder for each import: its parts, and ``report.json``.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.text import slugify

from analysis.traffic.report import compute_traffic
from analysis.traffic.tables import TOP_DOMAINS
from cartography.traffic.address_cache import LocalNetworks
from cartography.traffic.anonymization import Pseudonymizer, generate_key, read_key
from cartography.traffic.import_report import LogReport
from cartography.traffic.log_import import FlowImport
from cartography.traffic.readers.line_blocks import Source
from cartography.traffic.readers.pcap import is_capture
from cartography.traffic.readers.zeek_process import find_zeek, run_zeek
from cartography.traffic.table_by_date import TablesByDate
from core.errors import BadInput, MissingData
from core.files import replace_folder
from core.providers import PROVIDERS
from lake.traffic import FlowWriter
from tasks.traffic.documents import import_document, report_document
from webapp.store.object_storage import files as stored_files
from webapp.store.ranges.by_date import Tables
from webapp.store.traffic.services import PRIVATE, imports_root

_REPORT = "report.json"


@dataclass(frozen=True)
class ImportOptions:
    """What shapes an import."""

    name: str = ""
    key_file: Path | None = None
    networks: tuple[str, ...] = ()
    as_of: date | None = None
    top_domains: int = TOP_DOMAINS
    # Who reads captures: ``zeek``, ``own``, or ``auto`` for Zeek where it is installed.
    reader: str = "auto"
    # Of emulated logs: the origin of the range tables that place them.
    world: str = ""
    # Of an upload: for its owner alone.
    private: bool = False


def import_logs(paths: Sequence[Path], options: ImportOptions) -> dict[str, Any]:
    """Import files as one capture and write its report; raises ``BadInput``, ``MissingData``.

    An import of the same name is replaced as a whole, and stays as it was on any error.
    """
    _check_paths(paths)
    name = slugify(options.name or _find_log_name(paths[0]))[:80] or "capture"
    return write_import(name, [(path, str(path)) for path in paths], options)


def write_import(
    name: str,
    files: Sequence[tuple[Path, str]],
    options: ImportOptions,
    count_bytes: Callable[[int, int], None] | None = None,
    confirm: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Import files, each with the name that documents give it, as ``name`` and write its report.

    ``count_bytes`` is called with the bytes read, packed and unpacked, and ``confirm`` before the
    import is put in place; an error that they raise ends it, and leaves nothing. Raises
    ``BadInput``, ``MissingData`` and ``Unavailable``.
    """
    key = (
        read_key(options.key_file, Path(settings.DATA_DIR)) if options.key_file else generate_key()
    )
    zeek = _find_zeek(options.reader)
    inside, tables = LocalNetworks(options.networks), Tables(options.as_of, options.world)
    calendar = TablesByDate(tables.on, tables.changes, PROVIDERS, inside)
    with _folder(name) as folder:
        reading = FlowImport(FlowWriter(folder), calendar, Pseudonymizer(key), count_bytes)
        accounts = _read_files(files, folder, reading, zeek)
        report = compute_traffic(folder, options.top_domains)
        document = import_document(name, accounts, report) | {
            "range_tables": tables.used(),
            "client_networks": list(options.networks),
            "world": options.world,
            "key": "given" if options.key_file else "random, not kept",
        }
        (folder / _REPORT).write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        if options.private:
            (folder / PRIVATE).touch()
        if confirm is not None:
            confirm()
    return document


def read_report(name: str = "", top_domains: int | None = None) -> dict[str, Any]:
    """The report of an import, the newest one without a name; raises ``MissingData``.

    With ``top_domains`` the tables are computed again from the parts.
    """
    folder = _find(name)
    stored_files.fetch(folder / _REPORT)
    document: dict[str, Any] = json.loads((folder / _REPORT).read_text(encoding="utf-8"))
    if top_domains:
        stored_files.fetch_all(folder)
        document |= report_document(compute_traffic(folder, top_domains))
    return document


def list_imports() -> list[str]:
    """Names of imports, the newest first."""
    found = [path.parent.name for path in stored_files.stored_named(_REPORT, imports_root())]
    return [name for name in found if name[0] != "."]


def has_import(name: str) -> bool:
    """Whether there is an import of this name."""
    is_name = not name.startswith(".") and "/" not in name
    return is_name and bool(stored_files.stored_of([imports_root() / name / _REPORT]))


def _find(name: str) -> Path:
    if name and has_import(name):
        return imports_root() / name
    names = list_imports()
    if not names:
        raise MissingData(
            "nothing was imported yet; import logs with: manage.py packets import LOG"
        )
    if name and name not in names:
        raise MissingData(f"there is no import {name!r}; there are {', '.join(names[:10])}")
    return imports_root() / (name or names[0])


def _check_paths(paths: Sequence[Path]) -> None:
    seen: dict[Path, Path] = {}
    for path in paths:
        if not path.is_file():
            raise BadInput(
                f"cannot read {path}: {'it is a folder' if path.is_dir() else 'no such file'}"
            )
        before = seen.setdefault(path.resolve(), path)
        if before is not path:
            raise BadInput(f"{path} is given twice: its flows would count twice")


def _find_log_name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".log").removesuffix(".json")


def _find_zeek(reader: str) -> str | None:
    program = None if reader == "own" else find_zeek()
    if reader == "zeek" and program is None:
        raise MissingData(
            "zeek is not installed; without --reader zeek captures are read all the same"
        )
    return program


def _read_files(
    files: Sequence[tuple[Path, str]], folder: Path, reading: FlowImport, zeek: str | None
) -> list[LogReport]:
    try:
        for number, (path, shown) in enumerate(files):
            if zeek and is_capture(Source(path).head()):
                _read_by_zeek(zeek, path, folder / f".zeek-{number}", reading)
            else:
                reading.read(path, shown)
    finally:
        reading.writer.close()
    _refuse_nothing(reading.accounts)
    return reading.accounts


def _read_by_zeek(zeek: str, path: Path, folder: Path, reading: FlowImport) -> None:
    for log in run_zeek(zeek, path, folder):
        reading.read(log, f"{path}:{log.name}")
    # Zeek's logs have the clients' addresses.
    shutil.rmtree(folder)


def _refuse_nothing(accounts: Sequence[LogReport]) -> None:
    if any(account.rows for account in accounts):
        return
    why = {reason: n for account in accounts for reason, n in account.tally.counts.items()}
    stated = ", ".join(f"{reason} ({n:,})" for reason, n in why.items()) or "no line"
    raise BadInput(f"no row of a Zeek log in {accounts[0].path}: {stated}")


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    """A folder to fill, put in place when all went well and else removed."""
    with replace_folder(imports_root() / name) as work:
        yield work
        shutil.rmtree(work / ".spill", ignore_errors=True)
        stored_files.publish_folder(work, imports_root() / name)
