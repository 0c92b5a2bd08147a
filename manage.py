#!/usr/bin/env python
"""Django's entry and the product's command line."""

import os
import sys
from importlib import import_module

from core.errors import NephoscopeError, Unavailable, store_error
from core.release import VERSION

# Commands that use neither the store nor the site; loading both takes longer than to resolve
# fifty thousand names.
STANDALONE = ("resolve", "regions")
OVERVIEW = ([], ["help"], ["--help"], ["-h"])
ASKED_VERSION = (["version"], ["--version"])


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    if sys.argv[1:] in (*OVERVIEW, *ASKED_VERSION):
        _print_overview()
        return
    if sys.argv[1:2] == ["resolve"]:
        import_module("webapp.console.resolving").main(sys.argv)
        return
    if sys.argv[1:2] and sys.argv[1] in STANDALONE:
        module = import_module(f"webapp.console.management.commands.{sys.argv[1]}")
        module.Command().run_from_argv(sys.argv)
        return
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    try:
        execute_from_command_line(sys.argv)
    except DatabaseError as error:
        # A command of Django's own, such as ``migrate``.
        raise Unavailable(store_error(error)) from error


def _print_overview() -> None:
    from webapp.console import overview

    is_version = sys.argv[1:] in ASKED_VERSION
    words = f"nephoscope {VERSION}" if is_version else overview.text()
    sys.stdout.write(words + "\n")


def run_command_line() -> None:
    """Run one command and end the process with its exit code; the entry of ``nephoscope``."""
    try:
        main()
    except KeyboardInterrupt:
        # Before a command is loaded there is nothing to resume, and no error to report.
        sys.exit(130)
    except NephoscopeError as error:
        # A setting that makes no sense; commands report their own errors.
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    run_command_line()
