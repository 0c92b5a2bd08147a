"""``manage.py networks``: probes of Globalping and RIPE Atlas as vantage points."""

from typing import Any

from django.core.management.base import CommandParser

from tasks import network_places
from webapp.console.door import Door


class Command(Door):
    """Say what may be spent, list places, and take some of them as vantage points."""

    help = "public measurement networks: credits, places, and vantage points at them"

    def add_arguments(self, parser: CommandParser) -> None:
        """``networks ACTION NETWORK``."""
        parser.add_argument("action", choices=("credits", "places", "enlist"))
        parser.add_argument("network", choices=("globalping", "atlas"))
        parser.add_argument("--count", type=int, default=20, metavar="N", help="places to enlist")
        parser.add_argument("--country", default="", metavar="CC", help="only in this country")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one action."""
        network, country = options["network"], options["country"]
        if options["action"] == "credits":
            self.put_json(network_places.credits(network))
        elif options["action"] == "places":
            self.put_lines(network_places.find_places(network, country))
        else:
            for point in network_places.enlist(network, options["count"], country):
                self.stdout.write(point.name)
