"""Traffic logs for the command: files in, flows in the lake and a report beside them out.

``packets`` of the data folder holds one folder for each import: its parts, and ``report.json``.
"""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.text import slugify

from analysis.traffic.report import compute_traffic
from analysis.traffic.tables import TOP_DOMAINS
from cartography.flows.accounts import Account
from cartography.flows.book import Inside
from cartography.flows.calendar import Calendar
from cartography.flows.importing import FlowImport
from cartography.flows.pseudonyms import Pseudonyms, make_key, read_key
from core.errors import BadInput, MissingData
from core.tables import PROVIDERS
from lake.flows import FlowWriter
from tasks.packet_documents import import_document, report_document
from webapp.store.packet_tables import Tables

_REPORT = "report.json"


@dataclass(frozen=True)
class ImportOptions:
    """What shapes an import."""

    name: str = ""
    key_file: Path | None = None
    networks: tuple[str, ...] = ()
    as_of: date | None = None
    top_domains: int = TOP_DOMAINS


def root() -> Path:
    """Where imports stand."""
    return Path(settings.DATA_DIR) / "packets"


def import_logs(paths: Sequence[Path], options: ImportOptions) -> dict[str, Any]:
    """Import files as one capture and write its report; raises ``BadInput``, ``MissingData``.

    An import of the same name is replaced as a whole, and stays as it was on any error.
    """
    _check_paths(paths)
    name = slugify(options.name or _stem(paths[0]))[:80] or "capture"
    key = read_key(options.key_file, Path(settings.DATA_DIR)) if options.key_file else make_key()
    inside, tables = Inside(options.networks), Tables(options.as_of)
    calendar = Calendar(tables.on, tables.changes, PROVIDERS, inside)
    with _folder(name) as folder:
        accounts = _read_logs(paths, folder, calendar, Pseudonyms(key))
        report = compute_traffic(folder, options.top_domains)
        document = import_document(name, accounts, report) | {
            "range_tables": tables.used(),
            "client_networks": list(options.networks),
            "key": "given" if options.key_file else "random, not kept",
        }
        (folder / _REPORT).write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return document


def read_report(name: str = "", top_domains: int | None = None) -> dict[str, Any]:
    """The report of an import, the newest one without a name; raises ``MissingData``.

    With ``top_domains`` the tables are computed again from the parts.
    """
    folder = _find(name)
    document: dict[str, Any] = json.loads((folder / _REPORT).read_text(encoding="utf-8"))
    if top_domains:
        document |= report_document(compute_traffic(folder, top_domains))
    return document


def list_imports() -> list[str]:
    """Names of imports, the newest first."""
    found = [path.parent for path in root().glob(f"*/{_REPORT}") if path.parent.name[0] != "."]
    found.sort(key=lambda folder: (folder / _REPORT).stat().st_mtime_ns, reverse=True)
    return [folder.name for folder in found]


def _find(name: str) -> Path:
    names = list_imports()
    if not names:
        raise MissingData(
            "nothing was imported yet; import logs with: manage.py packets import LOG"
        )
    if name and name not in names:
        raise MissingData(f"there is no import {name!r}; there are {', '.join(names[:10])}")
    return root() / (name or names[0])


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


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".log").removesuffix(".json")


def _read_logs(
    paths: Sequence[Path], folder: Path, calendar: Calendar, pseudonyms: Pseudonyms
) -> list[Account]:
    writer = FlowWriter(folder)
    reader = FlowImport(writer, calendar, pseudonyms)
    for path in paths:
        reader.read(path)
    writer.close()
    _refuse_nothing(reader.accounts)
    return reader.accounts


def _refuse_nothing(accounts: Sequence[Account]) -> None:
    if any(account.rows for account in accounts):
        return
    why = {reason: n for account in accounts for reason, n in account.tally.counts.items()}
    said = ", ".join(f"{reason} ({n:,})" for reason, n in why.items()) or "no line"
    raise BadInput(f"no row of a Zeek log in {accounts[0].path}: {said}")


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    """A folder to fill, put in place when all went well and else removed."""
    work, place = root() / f".{name}.{os.getpid()}", root() / name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        yield work
        shutil.rmtree(work / ".spill", ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        work.replace(place)
    finally:
        shutil.rmtree(work, ignore_errors=True)
