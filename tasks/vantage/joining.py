"""``python -m tasks.vantage.joining SITE TOKEN``: make this machine a vantage point, and start it.

Without a token the identity of an earlier join is used. No Django, no database.
"""

import argparse
import logging
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from core.errors import BadInput, NephoscopeError
from tasks.vantage import credentials, no_django  # noqa: F401
from tasks.vantage.credentials import Identity
from tasks.vantage.heartbeat import TAKEN
from tasks.vantage.process import work
from tasks.vantage.self_check import check_machine, describe
from tasks.vantage.site_api import Presence, join, report_presence

_EXIT_CODES = {BadInput: 2, credentials.AlreadyRunning: TAKEN}
_DJANGO = "DJANGO_SETTINGS_MODULE"


def main(arguments: list[str] | None = None) -> int:
    """Join where a token is given, then work until stopped; the exit code."""
    options = _parser().parse_args(arguments)
    if arguments is None and os.environ.get(_DJANGO):
        # Celery loads Django where this is set; a shell of the site's own machine may set it.
        clean = {name: value for name, value in os.environ.items() if name != _DJANGO}
        os.execve(
            sys.executable, [sys.executable, "-m", "tasks.vantage.joining", *sys.argv[1:]], clean
        )
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=options.log)
    logging.getLogger("celery").setLevel(options.log)
    try:
        return _run(options)
    except NephoscopeError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return _EXIT_CODES.get(type(error), 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tasks.vantage.joining", description=__doc__)
    parser.add_argument("site", nargs="?", metavar="SITE", help="like https://nephoscope.example")
    parser.add_argument("token", nargs="?", metavar="TOKEN", help="from the invitation; works once")
    parser.add_argument(
        "--folder", default="", help="where the identity is stored (~/.nephoscope-vantage)"
    )
    parser.add_argument("--join-only", action="store_true", help="do not start measuring")
    parser.add_argument("--plain", action="store_true", help="allow http to another machine")
    parser.add_argument("--log", default="WARNING", metavar="LEVEL")
    return parser


def _run(options: argparse.Namespace) -> int:
    folder = credentials.folder_of(options.folder)
    who = _identity(options, folder)
    with credentials.lock_identity(folder):
        return 0 if options.join_only else work(who, folder)


def _identity(options: argparse.Namespace, folder: Path) -> Identity:
    known = credentials.load(folder)
    if known is None and not options.token:
        raise BadInput(f"there is no identity in {folder}; join with SITE and TOKEN first")
    # A service that runs the same command again starts what has joined; a token that is too many
    # stays unused.
    if known and not (options.token and report_presence(known) is Presence.REVOKED):
        return known
    who = join(options.site, options.token, plain=options.plain)
    credentials.save(who, folder)
    print(f"joined {who.site} as {who.name}", flush=True)  # noqa: T201
    _print_self_check(who)
    return who


def _print_self_check(who: Identity) -> None:
    """Print what this machine can measure, and what to do about the rest."""
    for found in describe(check_machine(urlsplit(who.site).hostname or who.host).as_json()):
        advice = "" if found.is_ok else f" ({found.advice})"
        print(f"  {found.title}: {found.value}{advice}", flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
