"""``nephoscope run``: the whole installation on one machine, as ``make run`` starts it."""

import os
import sys
from typing import Any

from django.core.management.base import CommandParser

from core.paths import PROJECT
from webapp.console.product_command import ProductCommand


class Command(ProductCommand):
    """Become the launcher, which starts every service and ends them on Ctrl-C."""

    help = "serve the site with everything it needs on this machine"
    needs_store = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, help="port of the site; default PORT or 8000")
        parser.add_argument("--world", help="testbed Internet, or none for the real one")
        parser.add_argument("--scale", help="share of the testbed Internet; default 1/200")

    def handle(self, *args: Any, **options: Any) -> None:
        given = {name.upper(): options[name] for name in ("port", "world", "scale")}
        environment = os.environ | {k: str(v) for k, v in given.items() if v is not None}
        # The launcher is found beside this package, whatever folder the command was typed in.
        environment["PYTHONPATH"] = str(PROJECT)
        os.execve(sys.executable, [sys.executable, "-m", "deploy.local"], environment)
