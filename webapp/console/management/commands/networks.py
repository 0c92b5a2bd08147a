"""``manage.py networks``: probes of Globalping and RIPE Atlas as vantage points."""

from typing import Any

from django.core.management.base import CommandParser

from tasks.networks import enlistment
from webapp.console.product_command import ProductCommand


class Command(ProductCommand):
    """Show credits, list places, and enlist some of them as vantage points."""

    help = "public measurement networks: credits, places, and vantage points at them"

    def add_arguments(self, parser: CommandParser) -> None:
        """``networks ACTION NETWORK``."""
        parser.add_argument("action", choices=("credits", "places", "enlist"))
        parser.add_argument("network", choices=("globalping", "atlas"))
        parser.add_argument("--count", type=int, default=20, metavar="N", help="places to enlist")
        parser.add_argument("--country", default="", metavar="CC", help="only in this country")
        parser.add_argument("--city", default="", help="only in this city (globalping)")
        parser.add_argument("--asn", type=int, default=0, metavar="N", help="only in this network")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one action."""
        names = ("network", "country", "city", "asn", "count")
        wanted = enlistment.Wanted(**{name: options[name] for name in names})
        if options["action"] == "credits":
            self.write_json(enlistment.credits(wanted.network))
        elif options["action"] == "places":
            self.write_json_lines(enlistment.find_places(wanted))
        else:
            for point in enlistment.enlist(wanted):
                self.stdout.write(point.name)
