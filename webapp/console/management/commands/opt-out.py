# ruff: noqa: N999 (a command is called as its file is named)
"""``manage.py opt-out``: domains, addresses and networks that are not measured."""

from typing import Any

from django.core.management.base import CommandParser

from webapp.console.product_command import ProductCommand
from webapp.store.access import domain_claims


class Command(ProductCommand):
    """List, add and remove domains, addresses and networks that are excluded from measurements."""

    help = "what is excluded from measurements: list, add, remove"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="everything that is excluded, with how it was proved")
        for name, text in (
            ("add", "exclude by the operator's word"),
            ("remove", "measure again"),
        ):
            action = actions.add_parser(name, help=text)
            action.add_argument("name", help="a domain, an address, or a prefix")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        rows = [
            {"name": row.name, "since": row.verified_at, "method": row.method}
            for row in domain_claims.list_opt_outs()
        ]
        if options["json"]:
            self.write_json(rows)
            return
        for row in rows:
            self.stdout.write(f"{row['name']:<40} {row['since']:%Y-%m-%d} {row['method']}")
        if not rows:
            self.write_note("nothing has opted out, beside the domains of fixtures/opt-out.txt")

    def _add(self, options: dict[str, Any]) -> None:
        row = domain_claims.add_opt_out(options["name"])
        self.write_note(f"{row.name} is excluded from measurements")

    def _remove(self, options: dict[str, Any]) -> None:
        domain_claims.remove_opt_out(options["name"])
        self.write_note("removed")
