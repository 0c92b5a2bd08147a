"""``manage.py study``: a survey's report with zones and customers, or of records elsewhere."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from tasks.surveys import export, record_folder, study
from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import ProductCommand, read_date


class Command(ProductCommand):
    """What is brought to a survey from elsewhere, and how it compares."""

    help = "zones, customers, report and comparison of a finished survey"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for action, words in (
            ("zones", "attach availability zones of addresses"),
            ("customers", "attach countries of customers"),
        ):
            sub = actions.add_parser(action, help=words)
            sub.add_argument("survey", metavar="SURVEY")
            sub.add_argument("file", type=input_file, metavar="FILE")
        again = actions.add_parser("compute", help="compute the report again")
        again.add_argument("survey", metavar="SURVEY")
        beside = actions.add_parser(
            "compare", help="every published cell compared with the survey's"
        )
        beside.add_argument("survey", metavar="SURVEY")
        beside.add_argument("--scale", metavar="1/N", help="default that of the survey's world")
        beside.add_argument("--table", action="append", default=[], metavar="ID")
        beside.add_argument("--all", action="store_true", help="cells that agree, too")
        for action, words in (
            ("records", "all tables of records that were collected elsewhere"),
            ("portable", "write SQL and ranges that count such records on any engine"),
        ):
            sub = actions.add_parser(action, help=words)
            sub.add_argument("folder", type=Path, metavar="FOLDER", help="of Parquet files")
            sub.add_argument("--as-of", type=read_date, metavar="DATE", help="ranges of that day")
        records = actions.choices["records"]
        records.add_argument("--out", type=Path, metavar="FOLDER", help="write report and tables")
        records.add_argument("--memory-mb", type=int, default=1024, metavar="N")
        records.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb")
        records.add_argument(
            "--master", default="local[*]", metavar="URL", help="Spark's master, with its engine"
        )
        for sub in actions.choices.values():
            sub.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _zones(self, options: dict[str, Any]) -> None:
        n = study.attach_zones(options["survey"], read_input(options["file"]))
        self._write_result(
            options, {"addresses": n}, f"{n:,} addresses attached, report computed again"
        )

    def _customers(self, options: dict[str, Any]) -> None:
        n = study.attach_customers(options["survey"], read_input(options["file"]))
        self._write_result(options, {"rows": n}, f"{n:,} rows attached, report computed again")

    def _compute(self, options: dict[str, Any]) -> None:
        study.recompute(study.finished(options["survey"]))
        self._write_result(options, {"survey": options["survey"]}, "report computed again")

    def _records(self, options: dict[str, Any]) -> None:
        master = options["master"] if options["engine"] == "spark" else ""
        document = record_folder.compute_tables(
            options["folder"], options["as_of"], options["memory_mb"], master
        )
        for complaint in document["complaints"]:
            self.write_note(complaint)
        if options["out"]:
            export.write_tables(document, options["out"])
        if options["json"]:
            self.write_json(document)
            return
        for table_id, table in document["tables"].items():
            self.stdout.write(f"{table_id}\t{len(table['rows'])}\t{table['headline']}")

    def _portable(self, options: dict[str, Any]) -> None:
        path = record_folder.write_portable(options["folder"], options["as_of"])
        self._write_result(
            options, {"script": str(path)}, f"{path} counts records beside ranges.parquet"
        )

    def _write_result(self, options: dict[str, Any], document: dict[str, Any], text: str) -> None:
        self.write_json(document) if options["json"] else self.stdout.write(text)

    def _compare(self, options: dict[str, Any]) -> None:
        cells = study.compare(options["survey"], options["scale"])
        wanted = set(options["table"])
        cells = [c for c in cells if not wanted or c.table_id in wanted]
        if options["json"]:
            self.write_json([asdict(cell) for cell in cells])
            return
        for cell in cells:
            if options["all"] or cell.verdict != "agrees":
                self.stdout.write("\t".join(_words(asdict(cell))))
        for line in _sums((c.table_id, c.verdict) for c in cells):
            self.write_note(line)


def _words(cell: dict[str, Any]) -> list[str]:
    gap = cell["difference"]
    numbers = [_plain(cell["published"]), _plain(cell["ours"])]
    gap_words = "" if gap is None else f"{gap:+.2%}"
    named = ["" if cell[key] is None else _plain(cell[key]) for key in ("named", "expected")]
    return [
        cell["table_id"],
        cell["row"],
        cell["column"],
        *numbers,
        gap_words,
        *named,
        cell["verdict"],
        cell["why"],
    ]


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.10g}"


def _sums(pairs: Iterable[tuple[str, str]]) -> list[str]:
    counts: dict[str, Counter[str]] = {}
    for table_id, verdict in pairs:
        counts.setdefault(table_id, Counter())[verdict] += 1
    return [
        f"{table_id}: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(found.items()))
        for table_id, found in counts.items()
    ]
