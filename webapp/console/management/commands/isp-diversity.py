# ruff: noqa: N999 (a command is called as its file is named)
"""``manage.py isp-diversity``: downstream ISPs of regions and zones from traceroutes."""

from typing import Any

from django.core.management.base import CommandParser

from core.wording import percent
from tasks.campaigns import address_owners, isp_report
from webapp.console.input_files import input_file, input_file_of
from webapp.console.product_command import ProductCommand, read_date
from webapp.store.ranges import asn_choice


class Command(ProductCommand):
    """Report the downstream ISPs of each region and zone."""

    help = "traceroutes (RIPE Atlas, scamper, Globalping, own) to downstream ISPs per region"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("traces", nargs="+", type=input_file, metavar="TRACES", help="files")
        parser.add_argument(
            "--asn-as-of", type=read_date, metavar="DATE", help="origins of that day"
        )
        parser.add_argument(
            "--asn", type=input_file, metavar="F", help="a file of prefixes and their origin ASes"
        )
        parser.add_argument("--ranges-as-of", type=read_date, metavar="DATE")
        parser.add_argument(
            "--ranges",
            action="append",
            type=input_file_of,
            default=[],
            metavar="PROVIDER=F",
            help="a range file",
        )
        parser.add_argument(
            "--exchanges", type=input_file, metavar="F", help="prefixes of exchanges, one a line"
        )
        parser.add_argument(
            "--names", type=input_file, metavar="F", help="names of ASes; else the imported list"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        given = options["names"]
        names = (
            isp_report.read_names(given)
            if given
            else address_owners.isp_names(options["asn_as_of"])
        )
        found = isp_report.read_traces(
            options["traces"], address_owners.addresses_by(**_tables(options))
        )
        document = isp_report.isp_document(found, names)
        used = None if options["asn"] else asn_choice.choose(options["asn_as_of"])
        if used:
            self.write_note(used.describe())
        hint = isp_report.find_hint(document["regions"])
        if hint:
            self.write_note(f"hint: {hint}")
        self.write_json(document) if options["json"] else self._write_text(document)

    def _write_text(self, document: dict[str, Any]) -> None:
        traces = document["traces"]
        self.stdout.write(
            f"{traces['results']:,} traceroutes of {traces['probes']:,} probes, "
            f"{traces['reached']:,} reached their target, {traces['malformed']:,} unreadable"
        )
        for row in document["regions"]:
            place = " ".join(row[k] for k in ("provider", "region", "zone") if row[k])
            effective = f", as spread as {row['effective']:.1f}" if row["effective"] else ""
            self.stdout.write(
                f"{place or 'no cloud'}: at least {row['distinct']} ISPs{effective}; "
                f"{row['certain']:,} of {row['traces']:,} routes certain, {row['doubtful']:,} "
                f"doubtful, {sum(row['unknown'].values()):,} unknown"
            )
            for isp in row["isps"][:5]:
                self.stdout.write(f"  AS{isp['asn']} {isp['name']}: {percent(isp['share'])}")


def _tables(options: dict[str, Any]) -> dict[str, Any]:
    exchanges = options["exchanges"]
    return {
        "origins": address_owners.Origins(options["asn_as_of"], options["asn"]),
        "ranges": address_owners.Ranges(options["ranges_as_of"], tuple(options["ranges"])),
        "exchanges": isp_report.read_prefixes(exchanges) if exchanges else (),
    }
