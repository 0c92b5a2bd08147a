"""``manage.py geolocation``: tables of the countries and cities of addresses."""

from typing import Any

from django.core.management.base import CommandParser

from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import ProductCommand, read_date
from webapp.store.ranges import documents, geolocation


class Command(ProductCommand):
    """Import geofeeds and tables of ranges with countries, and look addresses up in them."""

    help = "countries and cities of addresses: import, lookup, list"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        take = actions.add_parser(
            "import",
            help="a geofeed (RFC 8805), or a table of first and last address and country as "
            "DB-IP, IP2Location, iptoasn and ip-location-db publish them",
        )
        take.add_argument("file", type=input_file, metavar="FILE")
        look = actions.add_parser("lookup", help="country and city of addresses")
        look.add_argument("address", nargs="+", metavar="ADDRESS")
        for sub in (take, look):
            sub.add_argument("--as-of", type=read_date, metavar="DATE")
        show = actions.add_parser("list", help="imported tables")
        for sub in (take, look, show):
            sub.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _import(self, options: dict[str, Any]) -> None:
        data, name = read_input(options["file"]), options["file"].name
        row = geolocation.import_file(data, as_of=options["as_of"], file_name=name)
        if options["json"]:
            self.write_json({"kind": "geolocation", "as_of": str(row.as_of), **row.counts})
        else:
            counts = ", ".join(f"{v:,} {k}" for k, v in row.counts.items())
            self.stdout.write(f"geolocation as of {row.as_of}: {counts}")

    def _lookup(self, options: dict[str, Any]) -> None:
        self.write_json_lines(geolocation.lookup(options["address"], options["as_of"]))

    def _list(self, options: dict[str, Any]) -> None:
        rows = geolocation.tables()
        if options["json"]:
            self.write_json([documents.table_row(row) for row in rows])
            return
        if not rows:
            self.write_note(f"no table yet; {geolocation.IMPORT_HINT}")
        for row in rows:
            counts = ", ".join(f"{v:,} {k}" for k, v in row.counts.items())
            self.stdout.write(f"{row.as_of} {counts}")
