"""``manage.py asn``: tables of origin ASes, and the names of ASes."""

import sys
from collections.abc import Iterable
from itertools import islice
from typing import Any

from django.core.management.base import CommandParser

from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import ProductCommand, read_date
from webapp.store.ranges import asn, asn_choice, documents

# Addresses that are looked up together.
_BATCH = 100_000


class Command(ProductCommand):
    """Import route tables and lists of AS names, and look addresses up in them."""

    help = "origin ASes of addresses: import, lookup, list"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        take = actions.add_parser("import", help="a route table, or a list of AS names")
        take.add_argument("file", type=input_file, metavar="FILE")
        look = actions.add_parser("lookup", help="origin AS, prefix and name of addresses")
        look.add_argument("address", nargs="+", metavar="ADDRESS", help="or - for standard input")
        for sub in (take, look):
            sub.add_argument("--as-of", type=read_date, metavar="DATE")
        show = actions.add_parser("list", help="imported tables and lists of names")
        for sub in (take, look, show):
            sub.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _import(self, options: dict[str, Any]) -> None:
        data, name = read_input(options["file"]), options["file"].name
        row = asn.import_file(data, as_of=options["as_of"], file_name=name)
        used = asn_choice.choose()
        if row.variant != asn.NAMES and used and row in used.passed_over:
            self.write_note(f"warning: {used.describe()}")
        if options["json"]:
            kind = row.variant or "origins"
            row_document = {"provider": row.provider, "kind": kind, "as_of": str(row.as_of)}
            self.write_json({**row_document, **row.counts})
        else:
            counts = ", ".join(f"{v:,} {k}" for k, v in row.counts.items())
            self.stdout.write(f"asn as of {row.as_of}: {counts}")

    def _lookup(self, options: dict[str, Any]) -> None:
        given: Iterable[str] = options["address"]
        if given == ["-"]:
            given = (line.strip() for line in sys.stdin if line.strip())
        addresses = iter(given)
        used = asn.route_table(options["as_of"])
        if used.passed_over:
            self.write_note(used.describe())
        while batch := list(islice(addresses, _BATCH)):
            self.write_json_lines(asn.lookup(batch, options["as_of"]))

    def _list(self, options: dict[str, Any]) -> None:
        rows = [row for kind in asn.KINDS for row in asn.tables(kind)]
        if options["json"]:
            self.write_json([documents.table_row(row) for row in rows])
            return
        if not rows:
            self.write_note("no route table yet; import one with: manage.py asn import FILE")
        for row in rows:
            counts = ", ".join(f"{v:,} {k}" for k, v in row.counts.items())
            self.stdout.write(f"{row.variant or 'origins':8} {row.as_of} {counts}")
