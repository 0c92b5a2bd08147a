"""``manage.py upgrade``: whether this version fits the stored data, and its migrations."""

from dataclasses import asdict
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandParser

from core.errors import BadInput
from webapp.console.product_command import ProductCommand
from webapp.store.monitoring import upgrade


class Command(ProductCommand):
    """Compare this version with the database; without ``--check`` also apply migrations."""

    help = "check whether this version fits the stored data, and migrate the database"
    # It reports migrations that are missing, instead of applying them first.
    needs_store = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="report only, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        plan = upgrade.plan_upgrade()
        if options["json"]:
            self.write_json(asdict(plan))
        else:
            self._write(plan)
        if plan.problems:
            raise BadInput("; ".join(plan.problems))
        if not options["check"] and plan.missing:
            call_command("migrate", verbosity=0)
            self.write_note(f"{len(plan.missing)} migrations applied")

    def _write(self, plan: upgrade.UpgradePlan) -> None:
        size = "" if plan.database_mb is None else f", {plan.database_mb:,.1f} MB"
        self.stdout.write(f"version {plan.version}, {plan.database}{size}")
        self.stdout.write(f"free in the data folder: {plan.free_mb:,.0f} MB")
        for name in plan.missing:
            self.stdout.write(f"to apply: {name}")
        for kind, n in plan.running.items():
            if n:
                self.stdout.write(f"resumes after the restart: {n} {kind}")
        if not plan.missing and not plan.problems:
            self.write_note("nothing to do: the database is of this version")
