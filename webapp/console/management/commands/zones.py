"""``manage.py zones``: in which zone of its region each address lies."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.errors import BadInput
from tasks.ranges import zones
from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import ProductCommand

_KINDS = ("samples", "targets", "rtts", "zone_ids")


class Command(ProductCommand):
    """Zone cartography by address proximity, latency and both."""

    help = "zones of addresses: infer"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        take = actions.add_parser("infer", help="zones from own instances and round-trip times")
        for kind in _KINDS:
            take.add_argument(
                f"--{kind.replace('_', '-')}",
                action="append",
                default=[],
                type=input_file,
                metavar="F",
            )
        take.add_argument("--uniform-labels", action="append", default=[], metavar="REGION")
        take.add_argument("--prefix-length", action="append", type=int, metavar="N")
        take.add_argument("--proximity-confidence", type=float, metavar="P")
        take.add_argument("--latency-confidence", type=float, metavar="P")
        take.add_argument("--threshold-ms", type=float, metavar="T")
        take.add_argument("--output", metavar="F", help="one JSON line per target, into a file")
        take.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        files = {kind: [read_input(path) for path in options[kind]] for kind in _KINDS}
        result = zones.infer(files, options)
        if options["output"]:
            _write(options["output"], result["targets"])
        if options["json"]:
            self.write_json(result)
            return
        for line in _lines(result, with_targets=not options["output"]):
            self.stdout.write(line)
        for line in _regions(result):
            self.write_note(line)


def _write(path: str, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error


def _lines(result: Mapping[str, Any], with_targets: bool) -> Iterator[str]:
    for row in result["targets"] if with_targets else ():
        zone = row["zone"] or f"unknown ({row['reason']})"
        yield f"{row['target']}\t{row['region']}\t{zone}\t{row['method']}"


def _regions(result: Mapping[str, Any]) -> Iterator[str]:
    for row in result["regions"]:
        counts = f"{row['identified']:,} of {row['targets']:,} targets ({row['coverage']:.1%})"
        error = row["agreement"]["error"]
        apart = "" if error is None else f"; the methods differ on {error:.1%} of those both place"
        yield f"{row['region']}: {counts}{apart}"
    for row in result["accounts"]:
        if row["undetermined"]:
            labels = ", ".join(row["undetermined"])
            yield f"{row['region']}: no zone for {labels} of account {row['account']}"
