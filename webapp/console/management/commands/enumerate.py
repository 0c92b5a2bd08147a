"""``manage.py enumerate``: domains to subdomains."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from tasks.resolution import enumerate_command
from tasks.resolution.options import resolving_from
from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import ProductCommand, add_crawling


class Command(ProductCommand):
    """List the subdomains of domains, with the technique that found each."""

    help = "find subdomains from many sources; wildcard answers are left out"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "domains_file",
            type=input_file,
            metavar="DOMAINS_FILE",
            help="domains, one a line, or CSV; - for standard input",
        )
        add_crawling(parser)
        parser.add_argument(
            "--suspected",
            action="store_true",
            help="also list names that cannot be told from a wildcard's",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        data = read_input(options["domains_file"])
        resolving = resolving_from(options)
        for item in enumerate_command.list_rejections(data)[:20]:
            self.write_note(f"line {item.line}: {item.text!r} left out: {item.reason}")
        show = self._show if sys.stderr.isatty() else None
        tally = enumerate_command.Tally()
        for row in enumerate_command.enumerate_list(data, resolving, show, tally):
            if row["state"] == "found" or options["suspected"]:
                self._write_row(row, as_json=options["json"])
        self.write_note(tally.as_text())

    def _write_row(self, row: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.write_json(row)
            return
        mark = "" if row["state"] == "found" else "\tsuspected"
        self.stdout.write(f"{row['name']}\t{','.join(row['sources'])}{mark}")

    def _show(self, progress: Any) -> None:
        sys.stderr.write(f"\r{progress.queries:,} queries · {progress.found:,} names found ")
