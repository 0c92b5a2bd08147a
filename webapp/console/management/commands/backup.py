"""``manage.py backup``: a copy of the data with which another installation can continue."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from tasks.platform import backup
from webapp.console.product_command import ProductCommand


class Command(ProductCommand):
    """Copy the data folder while the site runs."""

    help = "a copy of all data, without stopping the site"
    # A copy is made before an upgrade, so that it must not bring the store up to date.
    needs_store = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="FOLDER", type=Path, help="must not be there yet")

    def handle(self, *args: Any, **options: Any) -> None:
        made = backup.back_up(options["folder"])
        if options["json"]:
            self.write_json(
                {
                    "folder": str(made.folder),
                    "files": made.files,
                    "bytes": made.octets,
                    "database": made.with_database,
                }
            )
            return
        self.stdout.write(f"{made.folder}: {made.files:,} files, {made.octets / 1e6:,.1f} MB")
        if not made.with_database:
            self.write_note(
                "the database is a separate server: copy it with its own tools, before this"
            )
