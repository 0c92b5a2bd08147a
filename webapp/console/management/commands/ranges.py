"""``manage.py ranges``: provider range files."""

import sys
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.errors import BadInput
from webapp.console.door import Door, read_input
from webapp.store import ranges
from webapp.store.models import RangeTable


class Command(Door):
    """Import provider range files and look addresses up in them."""

    help = "provider range files: import, lookup, list"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        take = actions.add_parser("import", help="check a file and put it in force")
        take.add_argument("provider", metavar="PROVIDER")
        take.add_argument("file", metavar="FILE")
        look = actions.add_parser("lookup", help="provider, service and region of addresses")
        look.add_argument("address", nargs="+", metavar="ADDRESS", help="or - for standard input")
        for sub in (take, look):
            sub.add_argument("--as-of", type=_date, metavar="DATE")
        show = actions.add_parser("list", help="imported tables")
        for sub in (take, look, show):
            sub.add_argument("--json", action="store_true")
            sub.add_argument("--origin", default="", help="tables of an emulated world")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _import(self, options: dict[str, Any]) -> None:
        row, parsed = ranges.import_ranges(
            options["provider"],
            read_input(options["file"]),
            as_of=options["as_of"],
            origin=options["origin"],
            file_name=Path(options["file"]).name,
        )
        result = {"provider": row.provider, "as_of": str(row.as_of), **parsed.counts}
        if options["json"]:
            self.put_json(result)
        else:
            counts = ", ".join(f"{v:,} {k}" for k, v in parsed.counts.items() if isinstance(v, int))
            self.stdout.write(f"{row.provider} as of {row.as_of}: {counts}")

    def _lookup(self, options: dict[str, Any]) -> None:
        table = ranges.prefix_table(ranges.tables_in_force(options["origin"], options["as_of"]))
        addresses = options["address"]
        if addresses == ["-"]:
            addresses = [line.strip() for line in sys.stdin if line.strip()]
        for address, placement in zip(addresses, table.place_many(addresses), strict=True):
            self.put_json(ranges.lookup_row(address, placement))

    def _list(self, options: dict[str, Any]) -> None:
        rows = RangeTable.objects.all()
        if options["json"]:
            self.put_json([_row(r) for r in rows])
            return
        for row in rows:
            entries = row.counts.get("entries", 0)
            self.stdout.write(f"{row.provider:13} {row.as_of} {entries:>8,} entries  {row.origin}")


def _row(table: RangeTable) -> dict[str, Any]:
    return {
        "provider": table.provider,
        "as_of": str(table.as_of),
        "origin": table.origin,
        "sha256": table.sha256,
        **table.counts,
    }


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise BadInput(f"{text!r} is not a date like 2024-06-29", field="as-of") from error
