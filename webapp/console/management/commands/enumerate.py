"""``manage.py enumerate``: domains to subdomains."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from tasks import bulk
from tasks.options import resolving_from
from webapp.console.door import Door, add_crawling, read_input


class Command(Door):
    """List the subdomains of domains, with the technique that found each."""

    help = "domains to subdomains (zone transfer, word list, wildcard filtering)"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("domains_file", metavar="DOMAINS_FILE")
        add_crawling(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        data = read_input(options["domains_file"])
        resolving = resolving_from(options)
        for item in bulk.list_rejections(data)[:20]:
            self.say(f"line {item.line}: {item.text!r} left out: {item.reason}")
        show = self._show if sys.stderr.isatty() else None
        for row in bulk.enumerate_list(data, resolving, show):
            if options["json"]:
                self.put_json(row)
            else:
                self.stdout.write(f"{row['name']}\t{row['technique']}")

    def _show(self, progress: Any) -> None:
        sys.stderr.write(f"\r{progress.queries:,} queries · {progress.found:,} names found ")
