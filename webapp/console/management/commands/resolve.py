"""``manage.py resolve`` as a command of Django; ``manage.py`` itself starts it without Django."""

from typing import Any

from django.core.management.base import CommandParser

from webapp.console import resolving
from webapp.console.product_command import ProductCommand


class Command(ProductCommand):
    """Resolve names in bulk: one JSON line or row per (name, type)."""

    help = resolving.HELP
    needs_store = False

    def add_arguments(self, parser: CommandParser) -> None:
        resolving.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        resolving.run(options, self.stdout.write, self.write_note)
