"""``manage.py simulate``: experiments inside the data centre, beside their published figures."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from core.errors import BadInput
from tasks.simulations import catalogue
from webapp.console.product_command import ProductCommand


class Command(ProductCommand):
    """Run an experiment of the simulator, or list all of them."""

    help = "experiments inside the data centre: schedulers, queues, topologies"
    needs_store = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("experiment", nargs="?", metavar="NAME")
        parser.add_argument(
            "--set",
            dest="given",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="a parameter; --list names them with their ranges",
        )
        parser.add_argument("--seed", type=int, default=1, metavar="N", help="default 1")
        parser.add_argument("--list", action="store_true", help="experiments and their parameters")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            self._list(as_json=options["json"])
            return
        if not options["experiment"]:
            raise BadInput("name an experiment; simulate --list shows them", field="NAME")
        given = catalogue.parse_settings(options["given"])
        found = catalogue.run_at_once(
            options["experiment"], given, options["seed"], lambda share: None
        )
        if options["json"]:
            self.write_json(found)
        else:
            self._write_results(found)

    def _list(self, *, as_json: bool) -> None:
        rows = catalogue.experiments()
        if as_json:
            self.write_json(rows)
            return
        for row in rows:
            self.stdout.write(f"{row['experiment']:<16} {row['question']}")
            for parameter in row["parameters"]:
                self.stdout.write(f"  {parameter['name']:<16} {_describe(parameter)}")

    def _write_results(self, found: Mapping[str, Any]) -> None:
        for row in found["results"]:
            text = f"{row['name']:<34} {row['value']:>12,.4g} {row['unit']}"
            if row["interval"]:
                low, high = row["interval"]
                text += f"  [{low:,.4g}, {high:,.4g}]"
            if row["published"] is not None:
                verdict = "within" if row["within"] else "outside"
                text += f"  published {row['published']:,.4g}, {verdict} tolerance"
            if row["note"]:
                text += f"  ({row['note']})"
            self.stdout.write(text.rstrip())
        self.write_note(f"seed {found['seed']}, {found['events']:,} events, {found['cpu_s']} CPU s")


def _describe(parameter: Mapping[str, Any]) -> str:
    return f"{parameter['description']}: {parameter['allowed']}, default {parameter['default']}"
