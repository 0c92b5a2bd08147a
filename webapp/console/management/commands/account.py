"""``manage.py account``: what the operator does with accounts, where nobody else can."""

from typing import Any

from django.core.management.base import CommandParser
from django.urls import reverse

from core.errors import BadInput
from webapp.console.product_command import Door
from webapp.store.access import accounts
from webapp.store.accounts import deletion

_SITE = "http://127.0.0.1:8000"


class Command(Door):
    """Make, list, close, open and delete accounts; give links with which a password is set."""

    help = "accounts: create, invite, list, close, open, delete"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="a new account, and the link of its owner")
        invite = actions.add_parser("invite", help="another link, also for a lost password")
        for action in (create, invite):
            action.add_argument("name")
            action.add_argument("--site", metavar="URL", default=_SITE, help=f"default {_SITE}")
        create.add_argument("--operator", action="store_true", help="may manage vantage points")
        actions.add_parser("list", help="every account with what it holds")
        for name, text in (
            ("close", "its sessions, tokens and links open nothing any more"),
            ("open", "the opposite"),
        ):
            actions.add_parser(name, help=text).add_argument("name")
        delete = actions.add_parser("delete", help="an account with its private surveys")
        delete.add_argument("name")
        delete.add_argument("--yes", action="store_true", help="without this nothing is deleted")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        user = accounts.create(options["name"], is_operator=options["operator"])
        self._tell_link(user, options)

    def _invite(self, options: dict[str, Any]) -> None:
        self._tell_link(accounts.known(options["name"]), options)

    def _tell_link(self, user: Any, options: dict[str, Any]) -> None:
        who, key = accounts.invitation(user)
        link = options["site"].rstrip("/") + reverse("welcome", args=[who, key])
        if options["json"]:
            self.put_json({"name": user.get_username(), "link": link})
            return
        self.say(f"{user.get_username()} sets a password here, once, within three days:")
        self.stdout.write(link)

    def _list(self, options: dict[str, Any]) -> None:
        rows = accounts.accounts()
        if options["json"]:
            self.put_json(rows)
            return
        if not rows:
            self.say("no account yet; make one with: manage.py account create NAME")
        for row in rows:
            state = "open" if row["is_active"] else "closed"
            state = state if row["has_password"] else f"{state}, invited"
            last = f"{row['signed_in_at']:%Y-%m-%d}" if row["signed_in_at"] else "never"
            self.stdout.write(
                f"{row['name']:<24} {state:<16} last signed in {last:<12} "
                f"{row['surveys']} surveys, {row['tokens']} tokens"
            )

    def _close(self, options: dict[str, Any]) -> None:
        accounts.set_active(accounts.known(options["name"]), False)
        self.say("closed")

    def _open(self, options: dict[str, Any]) -> None:
        accounts.set_active(accounts.known(options["name"]), True)
        self.say("open")

    def _delete(self, options: dict[str, Any]) -> None:
        user = accounts.known(options["name"])
        if not options["yes"]:
            raise BadInput("this deletes every private survey of the account; say --yes")
        deletion.remove_account(user)
        self.say("deleted")
