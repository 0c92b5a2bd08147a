"""Base of all commands: one-line errors, JSON output, clean interruption."""

import fcntl
import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from core.errors import store_error
from core.release import VERSION
from webapp.console import parser as console_parser
from webapp.console.endings import refusing
from webapp.console.input_files import input_file, standard_input_as_file
from webapp.console.parser import add_resolving


class ProductParser(CommandParser):
    """A parser with one-line usage errors, also for its subparsers."""

    def error(self, message: str) -> NoReturn:
        if self.called_from_command_line:
            console_parser.exit_with_usage(self, message)
        super().error(message)
        raise AssertionError("the line above raises")


class ProductCommand(BaseCommand):
    """A command that turns the product's errors into one line and a non-zero exit code."""

    requires_system_checks: list[str] = []
    # Commands that use neither the store nor the site start without them, see ``manage.py``.
    needs_store = True
    # The exit code of an error that may pass.
    try_again_code = 1
    # Django sets it where a person called, who wants a line and not an exception.
    _called_from_command_line = False

    def get_version(self) -> str:
        return VERSION

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = ProductParser(
            prog=console_parser.name_program(prog_name, subcommand),
            description=self.help,
            called_from_command_line=self._called_from_command_line,
            **kwargs,
        )
        console_parser.add_base_options(parser)
        self.add_arguments(parser)
        console_parser.add_json_to_actions(parser)
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        refuse = partial(self._refuse, options)
        with refusing(refuse, self.stderr.write, self.try_again_code):
            try:
                if self.needs_store:
                    prepare_store()
                with standard_input_as_file(options) as given:
                    return super().execute(*args, **given)
            except DatabaseError as error:
                refuse(store_error(error), self.try_again_code, error)
        return None

    def _refuse(self, options: dict[str, Any], text: str, code: int, error: Exception) -> NoReturn:
        """End with one line; callers within the process get an exception instead."""
        if not self._called_from_command_line or options.get("traceback"):
            raise CommandError(text, returncode=code) from error
        self.write_note(f"error: {text}")
        raise SystemExit(code) from error

    def write_note(self, text: str) -> None:
        """Write a remark to standard error; standard output holds only the result."""
        self.stderr.style_func = None
        self.stderr.write(text)

    def write_json(self, document: Any) -> None:
        """Write a JSON document to standard output."""
        self.stdout.write(json.dumps(document, default=str, ensure_ascii=not is_stdout_utf8()))

    def write_json_lines(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write JSON Lines to standard output."""
        for row in rows:
            self.write_json(row)


def is_stdout_utf8() -> bool:
    """Whether standard output is encoded as UTF-8."""
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"


def prepare_store() -> None:
    """Bring the embedded database up to date, so that a first command needs no set-up."""
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415
    from django.db.migrations.executor import MigrationExecutor  # noqa: PLC0415

    if connection.vendor != "sqlite":
        return
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return
    # Of several commands that start in a new data folder, one makes the tables.
    with (Path(settings.DATA_DIR) / ".migrating").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call_command("migrate", verbosity=0, interactive=False)


def read_date(text: str) -> date:
    """Parse the date of an option; raise ``ArgumentTypeError``."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a date like 2024-06-29") from error


def add_crawling(parser: CommandParser) -> None:
    """Options of every command that enumerates."""
    add_resolving(parser)
    parser.add_argument(
        "--sources",
        metavar="LIST",
        help="of axfr,nsec,words,import,certificates,permutations; default axfr,words and those "
        "that other options call for",
    )
    parser.add_argument(
        "--wordlist",
        "--words",
        type=input_file,
        metavar="F",
        help="labels to try in each zone; default the product's own",
    )
    parser.add_argument(
        "--import",
        action="append",
        type=input_file,
        default=[],
        dest="imports",
        metavar="F",
        help="a list of names; may be repeated",
    )
    parser.add_argument("--ct-server", metavar="URL", help="search certificates here, as at crt.sh")
    parser.add_argument("--contact", metavar="TEXT", help="contact sent to that server's operator")
    parser.add_argument("--permutations", type=int, metavar="N", help="altered names per zone")
    parser.add_argument("--no-axfr", action="store_true", help="ask for no zone transfer")
    parser.add_argument("--no-aaaa", action="store_true", help="ask for no IPv6 address")
    parser.add_argument(
        "--allow-network",
        action="append",
        default=[],
        metavar="CIDR",
        help="contact name servers that were found in this network, too",
    )
