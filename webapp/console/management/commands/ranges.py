"""``manage.py ranges``: provider range files and route tables."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.core.management.base import CommandParser

from core.errors import BadInput, Unavailable
from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import ProductCommand, read_date
from webapp.store.models import RangeTable
from webapp.store.ranges import documents, fetching
from webapp.store.ranges import tables as range_tables

# Addresses that are looked up together.
_BATCH = 100_000


class Command(ProductCommand):
    """Import, fetch and compare provider range files, and look addresses up in them."""

    help = "provider range files: import, fetch, lookup, diff, list"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        take = actions.add_parser("import", help="check a file and put it in force")
        take.add_argument("provider", metavar="PROVIDER", help="or asn for a route table")
        take.add_argument("file", type=input_file, metavar="FILE")
        take.add_argument("--force", action="store_true", help="whatever the version before says")
        ask = actions.add_parser("fetch", help="ask the providers for newer files")
        ask.add_argument("provider", nargs="*", metavar="PROVIDER")
        ask.add_argument("--url", help="ask here instead; for one provider")
        look = actions.add_parser("lookup", help="provider, service and region of addresses")
        look.add_argument("address", nargs="+", metavar="ADDRESS", help="or - for standard input")
        for sub in (take, look):
            sub.add_argument("--as-of", type=read_date, metavar="DATE")
        differ = actions.add_parser("diff", help="what changed between two versions")
        differ.add_argument("provider", metavar="PROVIDER")
        differ.add_argument("old", nargs="?", type=read_date, metavar="OLD", help="a day")
        differ.add_argument("new", nargs="?", type=read_date, metavar="NEW", help="a later day")
        differ.add_argument("--variant", default="", help="which of a provider's files")
        show = actions.add_parser("list", help="imported tables")
        for sub in (take, ask, look, differ, show):
            sub.add_argument("--json", action="store_true")
        for sub in (take, look, show):
            sub.add_argument("--origin", default="", help="tables of an emulated world")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _import(self, options: dict[str, Any]) -> None:
        data, name = read_input(options["file"]), options["file"].name
        if options["provider"] == range_tables.ORIGINS:
            row, _ = range_tables.import_origins(data, as_of=options["as_of"], file_name=name)
            warnings: tuple[str, ...] = ()
        else:
            row, file = range_tables.import_ranges(
                options["provider"],
                data,
                as_of=options["as_of"],
                origin=options["origin"],
                file_name=name,
                force=options["force"],
            )
            warnings = file.warnings
        for warning in warnings:
            self.write_note(f"warning: {warning}")
        if options["json"]:
            stated = {"provider": row.provider, "as_of": str(row.as_of), **row.counts}
            self.write_json({**stated, "warnings": list(warnings)})
        else:
            counts = ", ".join(f"{v:,} {k}" for k, v in row.counts.items())
            self.stdout.write(f"{row.provider} as of {row.as_of}: {counts}")

    def _fetch(self, options: dict[str, Any]) -> None:
        wanted = fetching.sources(options["provider"])
        if options["url"]:
            if len(options["provider"]) != 1:
                raise BadInput("an address is asked for one provider", field="--url")
            wanted = [(options["provider"][0], options["url"])]
        visits = fetching.fetch_all(wanted)
        for visit in visits:
            if options["json"]:
                self.write_json(visit.as_json())
            else:
                self.stdout.write(f"{visit.provider:13} {visit.describe()}")
        _raise_for(Counter(visit.outcome for visit in visits), len(visits))

    def _lookup(self, options: dict[str, Any]) -> None:
        given: Iterable[str] = options["address"]
        if given == ["-"]:
            given = (line.strip() for line in sys.stdin if line.strip())
        tables = range_tables.tables_in_force(options["origin"], options["as_of"])
        table = range_tables.prefix_table(tables)
        for addresses in _batches(iter(given)):
            origins = range_tables.origins_of(addresses, options["as_of"])
            self.write_json_lines(documents.lookup_rows(table.place_many(addresses), origins))

    def _diff(self, options: dict[str, Any]) -> None:
        old, new, changes = range_tables.compare_versions(
            options["provider"], options["variant"], options["old"], options["new"]
        )
        if options["json"]:
            self.write_json(documents.diff_document(old, new, changes))
            return
        counts = Counter(str(change.kind) for change in changes)
        stated = ", ".join(f"{n:,} {kind}" for kind, n in sorted(counts.items())) or "no change"
        self.stdout.write(f"{old.provider} from {old.as_of} to {new.as_of}: {stated}")
        for change in changes:
            before, after = ", ".join(change.before), ", ".join(change.after)
            self.stdout.write(f"{change.kind:8} {change.prefix:20} {before} > {after}")

    def _list(self, options: dict[str, Any]) -> None:
        rows = RangeTable.objects.all()
        if options["json"]:
            self.write_json([documents.table_row(r) for r in rows])
            return
        if not rows:
            self.write_note(
                "no range table yet; import one with: manage.py ranges import PROVIDER FILE"
            )
        for row in rows:
            entries, variant = row.counts.get("entries", 0), row.variant
            name = f"{row.provider} {variant}".strip()
            self.stdout.write(f"{name:20} {row.as_of} {entries:>8,} entries  {row.origin}".rstrip())
        for visit in fetching.last_results():
            if visit.reason:
                self.write_note(f"{visit.provider} at {visit.url}: {visit.describe()}")


def _batches(addresses: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(addresses, _BATCH)):
        yield batch


def _raise_for(outcomes: Counter[fetching.Outcome], n_sources: int) -> None:
    doubtful = outcomes[fetching.Outcome.DOUBTFUL]
    unreachable = outcomes[fetching.Outcome.UNREACHABLE]
    if doubtful:
        raise BadInput(f"{doubtful} of {n_sources} files were refused; the tables in force stay")
    if unreachable:
        raise Unavailable(f"{unreachable} of {n_sources} sources did not answer; try again later")
