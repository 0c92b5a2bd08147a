"""Argument parser of all commands: one-line usage errors and short help."""

import argparse
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandParser, DjangoHelpFormatter

from core.release import VERSION

# Django's own options are hidden from help.
QUIET = frozenset(
    {
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--traceback",
        "--no-color",
        "--force-color",
        "--skip-checks",
    }
)
BAD_USAGE = 2


class ProductParser(CommandParser):
    """A parser with one-line usage errors, also for its subparsers."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", DjangoHelpFormatter)
        super().__init__(**kwargs)

    def error(self, message: str) -> NoReturn:
        if self.called_from_command_line:
            self.exit(BAD_USAGE, f"error: {message} ({self.prog} --help tells more)\n")
        super().error(message)
        raise AssertionError("the line above raises")


def add_base_options(command: BaseCommand, parser: CommandParser) -> None:
    """Add the base options that Django's entry point reads."""
    add = command.add_base_argument
    add(parser, "--version", action="version", version=f"nephoscope {VERSION}")
    add(parser, "-v", "--verbosity", default=1, type=int, choices=(0, 1, 2, 3))
    add(parser, "--settings")
    add(parser, "--pythonpath")
    for flag in ("--traceback", "--no-color", "--force-color", "--skip-checks"):
        add(parser, flag, action="store_true")


def add_json_to_actions(parser: CommandParser) -> None:
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
