"""``manage.py demo``: fill a new installation with emulated and synthetic data."""

from typing import Any

from django.core.management.base import CommandParser

from tasks.demo import parts
from tasks.surveys.worlds import WorldOptions
from webapp.console.product_command import ProductCommand


class Command(ProductCommand):
    """Make the parts of the demo that are missing, in a store that holds nothing else."""

    help = "fill a new installation with emulated data; does nothing where there is other data"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("world", nargs="?", default="imc2013", metavar="WORLD")
        parser.add_argument("--scale", metavar="1/N", default="1/200", help="as it is served")

    def handle(self, *args: Any, **options: Any) -> None:
        if not parts.is_wanted():
            return
        world = WorldOptions(options["world"], options["scale"])
        for line in parts.build(parts.list_parts(world)):
            self.write_note(f"· {line}")
