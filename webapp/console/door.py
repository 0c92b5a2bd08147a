"""What every command shares: one clear line for bad input, JSON out, Ctrl-C without a trace."""

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.errors import BadInput, NephoscopeError

INTERRUPTED = 130


class Door(BaseCommand):
    """A command that turns the product's errors into one line and a non-zero exit code."""

    requires_system_checks: list[str] = []
    # Commands that use neither the store nor the site start without them, see ``manage.py``.
    needs_store = True

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        if not any("--json" in action.option_strings for action in parser._actions):
            parser.add_argument("--json", action="store_true", help="machine-readable result")
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            if self.needs_store:
                prepare_store()
            return super().execute(*args, **options)
        except NephoscopeError as error:
            raise CommandError(str(error), returncode=2 if error.permanent else 1) from error
        except KeyboardInterrupt:
            self.stderr.write("interrupted; run the same command again to go on")
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError:
            # The reader went away (as in `… | head`); nothing is wrong with the work.
            sys.stderr.close()
            raise SystemExit(0) from None

    def say(self, text: str) -> None:
        """Progress and remarks go to standard error, so that standard output stays the result."""
        self.stderr.style_func = None
        self.stderr.write(text)

    def put_json(self, document: Any) -> None:
        """One JSON document on standard output."""
        self.stdout.write(json.dumps(document, default=str, ensure_ascii=False))

    def put_lines(self, rows: Iterable[dict[str, Any]]) -> None:
        """JSON Lines on standard output."""
        for row in rows:
            self.put_json(row)


def prepare_store() -> None:
    """Bring the embedded database up to date, so that a first command needs no set-up."""
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415
    from django.db.migrations.executor import MigrationExecutor  # noqa: PLC0415

    if connection.vendor != "sqlite":
        return
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0, interactive=False)


def read_input(path: str) -> bytes:
    """A file's bytes, or standard input for ``-``; raises ``BadInput`` with the reason."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error


def read_date(text: str) -> date:
    """The day of an option; raises ``ArgumentTypeError``, which the parser tells in one line."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a date like 2024-06-29") from error


def add_resolving(parser: CommandParser) -> None:
    """Options of every command that asks name servers."""
    parser.add_argument("--name-server", action="append", default=[], metavar="IP[:PORT]")
    parser.add_argument("--rate", type=float, metavar="N", help="queries per second and server")
    parser.add_argument("--window", type=int, metavar="N", help="questions in flight")
    parser.add_argument("--retries", type=int, metavar="N")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for one try")


def add_crawling(parser: CommandParser) -> None:
    """Options of every command that enumerates."""
    add_resolving(parser)
    parser.add_argument(
        "--sources",
        metavar="LIST",
        help="of axfr,nsec,words,import,certificates,permutations; default axfr,words and those "
        "that other options call for",
    )
    parser.add_argument("--wordlist", "--words", metavar="F", help="labels to try in each zone")
    parser.add_argument(
        "--import", action="append", default=[], dest="imports", metavar="F", help="a list of names"
    )
    parser.add_argument("--ct-server", metavar="URL", help="search certificates here, as at crt.sh")
    parser.add_argument("--contact", metavar="TEXT", help="told to that server's operator")
    parser.add_argument("--permutations", type=int, metavar="N", help="altered names per zone")
    parser.add_argument("--no-axfr", action="store_true", help="ask for no zone transfer")
    parser.add_argument("--no-aaaa", action="store_true", help="ask for no IPv6 address")
    parser.add_argument("--allow-network", action="append", default=[], metavar="CIDR")
