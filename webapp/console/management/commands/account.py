"""``manage.py account``: administration of accounts by the operator."""

from typing import Any

from django.core.management.base import CommandParser
from django.urls import reverse

from core.errors import BadInput
from webapp.console.product_command import ProductCommand
from webapp.store.access import accounts, domain_claims, second_factor
from webapp.store.accounts import deletion

_SITE = "http://127.0.0.1:8000"


class Command(ProductCommand):
    """Make, list, close, open and delete accounts; give links with which a password is set."""

    help = "accounts: create, invite, list, close, open, approve a domain, delete"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="a new account, and the link of its owner")
        invite = actions.add_parser("invite", help="another link, also to reset a password")
        for action in (create, invite):
            action.add_argument("name")
            action.add_argument("--site", metavar="URL", default=_SITE, help=f"default {_SITE}")
        create.add_argument("--operator", action="store_true", help="may manage vantage points")
        actions.add_parser("list", help="every account with what it holds")
        for name, text in (
            ("close", "its sessions, tokens and links open nothing any more"),
            ("open", "the opposite"),
            ("reset-factor", "sign in without a second factor, after a lost device"),
        ):
            actions.add_parser(name, help=text).add_argument("name")
        approve = actions.add_parser("approve", help="accept that it controls a domain")
        approve.add_argument("name")
        approve.add_argument("domain", help="a domain or an address")
        delete = actions.add_parser("delete", help="an account with its private surveys")
        delete.add_argument("name")
        delete.add_argument("--yes", action="store_true", help="without this nothing is deleted")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action'].replace('-', '_')}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        user = accounts.create_account(options["name"], is_operator=options["operator"])
        self._write_invitation(user, options)

    def _invite(self, options: dict[str, Any]) -> None:
        self._write_invitation(accounts.get_account(options["name"]), options)

    def _write_invitation(self, user: Any, options: dict[str, Any]) -> None:
        who, key = accounts.issue_invitation(user)
        link = options["site"].rstrip("/") + reverse("welcome", args=[who, key])
        if options["json"]:
            self.write_json({"name": user.get_username(), "link": link})
            return
        self.write_note(f"{user.get_username()} sets a password here, once, within three days:")
        self.stdout.write(link)

    def _list(self, options: dict[str, Any]) -> None:
        rows = accounts.list_accounts()
        if options["json"]:
            self.write_json(rows)
            return
        if not rows:
            self.write_note("no account yet; make one with: manage.py account create NAME")
        for row in rows:
            state = "open" if row["is_active"] else "closed"
            state = state if row["has_password"] else f"{state}, invited"
            last = f"{row['signed_in_at']:%Y-%m-%d}" if row["signed_in_at"] else "never"
            self.stdout.write(
                f"{row['name']:<24} {state:<16} last signed in {last:<12} "
                f"{row['surveys']} surveys, {row['tokens']} tokens"
            )

    def _close(self, options: dict[str, Any]) -> None:
        accounts.set_active(accounts.get_account(options["name"]), False)
        self.write_note("closed")

    def _open(self, options: dict[str, Any]) -> None:
        accounts.set_active(accounts.get_account(options["name"]), True)
        self.write_note("open")

    def _reset_factor(self, options: dict[str, Any]) -> None:
        removed = second_factor.remove(accounts.get_account(options["name"]))
        self.write_note("removed" if removed else "the account has no second factor")

    def _approve(self, options: dict[str, Any]) -> None:
        row = domain_claims.approve(accounts.get_account(options["name"]), options["domain"])
        self.write_note(f"{row.name} may be transferred and probed for {options['name']}")

    def _delete(self, options: dict[str, Any]) -> None:
        user = accounts.get_account(options["name"])
        if not options["yes"]:
            raise BadInput("this deletes every private survey of the account; say --yes")
        deletion.remove_account(user)
        self.write_note("deleted")
