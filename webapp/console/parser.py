"""Argument parser of all commands: one-line usage errors and short help.

It does without Django, which takes longer to load than to resolve ten thousand names.
"""

import argparse
from pathlib import Path
from typing import Any, NoReturn

from core.release import VERSION

BAD_USAGE = 2
_FLAGS = ("--traceback", "--no-color", "--force-color", "--skip-checks")
# Options that Django's entry point reads are hidden from help.
QUIET = frozenset({"--version", "--verbosity", "--settings", "--pythonpath", *_FLAGS})


class StandaloneParser(argparse.ArgumentParser):
    """A parser of a command that a person called: a usage error is one line."""

    def error(self, message: str) -> NoReturn:
        exit_with_usage(self, message)


def exit_with_usage(parser: argparse.ArgumentParser, message: str) -> NoReturn:
    """End the process with one line about bad usage."""
    parser.exit(BAD_USAGE, f"error: {message} ({parser.prog} --help tells more)\n")
    raise AssertionError("the line above raises")


def name_program(program: str, command: str) -> str:
    """Return what usage and errors call a command."""
    return f"{Path(program).name} {command}"


def add_base_options(parser: argparse.ArgumentParser) -> None:
    """Add the base options that Django's entry point reads."""
    hidden: dict[str, Any] = {"help": argparse.SUPPRESS}
    parser.add_argument("--version", action="version", version=f"nephoscope {VERSION}", **hidden)
    parser.add_argument("-v", "--verbosity", default=1, type=int, choices=(0, 1, 2, 3), **hidden)
    parser.add_argument("--settings", **hidden)
    parser.add_argument("--pythonpath", **hidden)
    for flag in _FLAGS:
        parser.add_argument(flag, action="store_true", **hidden)


def add_json_to_actions(parser: argparse.ArgumentParser) -> None:
    """Give every action of a command ``--json`` and the description that the list has.

    An action's own default would undo options before its name, as in ``ranges --json list``.
    """
    for actions in _of_actions(parser):
        words = {choice.dest: choice.help for choice in actions._choices_actions}
        for name, sub in actions.choices.items():
            sub.description = sub.description or words.get(name)
            add_json(sub, argparse.SUPPRESS)
    add_json(parser, False)


def add_json(parser: argparse.ArgumentParser, default: Any) -> None:
    """Give a parser ``--json``, or its own one this default."""
    given = [action for action in parser._actions if "--json" in action.option_strings]
    action = given[0] if given else parser.add_argument("--json", action="store_true")
    action.default = default
    action.help = action.help or "machine-readable result"


def _of_actions(parser: argparse.ArgumentParser) -> list[Any]:
    return [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]


def add_resolving(parser: argparse.ArgumentParser) -> None:
    """Options of every command that asks name servers."""
    parser.add_argument(
        "--name-server",
        action="append",
        default=[],
        metavar="IP[:PORT]",
        help="ask this one; may be repeated; default the system's",
    )
    parser.add_argument("--rate", type=float, metavar="N", help="queries per second and server")
    parser.add_argument("--window", type=int, metavar="N", help="queries in flight")
    parser.add_argument("--retries", type=int, metavar="N", help="further tries, default 3")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for one try")
