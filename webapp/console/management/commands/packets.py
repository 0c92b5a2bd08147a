"""``manage.py packets``: traffic logs and captures, by cloud, protocol and domain."""

from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from tasks.traffic import log_import
from webapp.console.input_files import input_file
from webapp.console.product_command import ProductCommand, read_date


class Command(ProductCommand):
    """Import traffic logs and report cloud traffic."""

    help = "traffic logs: import, report, list"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        take = actions.add_parser("import", help="read Zeek logs or captures as one import")
        take.add_argument("files", nargs="+", type=input_file, metavar="LOG")
        take.add_argument("--name", default="", help="of the import; else the first file's")
        take.add_argument(
            "--key-file", type=input_file, metavar="F", help="hides clients' addresses"
        )
        take.add_argument("--client-network", action="append", default=[], metavar="CIDR")
        take.add_argument(
            "--as-of", type=read_date, metavar="DATE", help="place by that day's tables"
        )
        take.add_argument("--reader", choices=("auto", "zeek", "own"), default="auto")
        show = actions.add_parser("report", help="the tables of an import")
        show.add_argument("name", nargs="?", default="", metavar="NAME", help="else the newest")
        names = actions.add_parser("list", help="imports, the newest first")
        for sub in (take, show):
            sub.add_argument("--top", type=_count, metavar="N", help="domains of each cloud")
        for sub in (take, show, names):
            sub.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _import(self, options: dict[str, Any]) -> None:
        chosen = log_import.ImportOptions(
            name=options["name"],
            key_file=options["key_file"],
            networks=tuple(options["client_network"]),
            as_of=options["as_of"],
            reader=options["reader"],
            **({"top_domains": options["top"]} if options["top"] else {}),
        )
        found = log_import.import_logs(options["files"], chosen)
        if options["json"]:
            self.write_json(found)
            return
        for line in _log_lines(found):
            self.stdout.write(line)
        for line in _refusals(found):
            self.write_note(line)

    def _report(self, options: dict[str, Any]) -> None:
        found = log_import.read_report(options["name"], options["top"])
        if options["json"]:
            self.write_json(found)
            return
        for line in _table_lines(found):
            self.stdout.write(line)

    def _list(self, options: dict[str, Any]) -> None:
        names = log_import.list_imports()
        if options["json"]:
            self.write_json(names)
            return
        if not names:
            self.write_note(
                "nothing was imported yet; import logs with: manage.py packets import LOG"
            )
        for name in names:
            self.stdout.write(name)


def _log_lines(found: Mapping[str, Any]) -> Iterator[str]:
    for log in found["logs"]:
        yield f"{log['path']}: {log['kind']}, {log['rows']:,} rows, {log['rejected']:,} rejected"
        for cloud, own in log["clouds"].items():
            share = own["rows"] / log["rows"] if log["rows"] else 0.0
            n_bytes = "unknown" if own["bytes"] is None else f"{own['bytes']:,}"
            yield (
                f"  {cloud:13}{own['rows']:>12,} rows {share:7.2%}{own['flows']:>12,} flows"
                f"{n_bytes:>18} bytes"
            )
    yield f"report: manage.py packets report {found['name']}"


def _refusals(found: Mapping[str, Any]) -> Iterator[str]:
    for log in found["logs"]:
        if log["damage"]:
            yield f"{log['path']}: {log['damage']}"
        for reason, own in log["reasons"].items():
            lines = ", ".join(map(str, own["first_lines"]))
            yield f"{log['path']}: {own['count']:,} left out: {reason} (first in line {lines})"
    later = sorted({t["provider"] for t in found["range_tables"] if t["is_later"]})
    if later:
        yield f"placed by tables that are newer than the log: {', '.join(later)}"


def _table_lines(found: Mapping[str, Any]) -> Iterator[str]:
    for table in found["tables"].values():
        yield f"{table['headline']} (n = {table['n']:,})"
        yield "\t".join(table["columns"])
        for row in table["rows"]:
            yield "\t".join("" if cell is None else str(cell) for cell in row)
        yield ""


def _count(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) <= 100_000:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to 100,000")
    return int(text)
