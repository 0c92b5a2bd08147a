"""``manage.py resolve``: the bulk resolver."""

import sys
import time
from typing import Any

from django.core.management.base import CommandParser

from tasks import bulk
from tasks.options import resolving_from
from webapp.console.door import Door, add_resolving, read_input


class Command(Door):
    """Resolve names in bulk: one JSON line per (name, type)."""

    help = "bulk resolver; one JSON line per (name, type)"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names_file", metavar="NAMES_FILE", help="file, or - for stdin")
        parser.add_argument("--type", action="append", default=[])
        parser.add_argument("--output", metavar="F", help="write .jsonl or .parquet instead")
        add_resolving(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        types = bulk.check_types(options["type"])
        names, rejected = bulk.read_names(read_input(options["names_file"]))
        for item in rejected[:20]:
            self.say(f"line {item.line}: {item.text!r} left out: {item.reason}")
        meter = _Meter(len(names) * len(types))
        answers = bulk.resolve_names(names, types, resolving_from(options), meter.tick)
        if options["output"]:
            bulk.save_answers(answers, options["output"])
        else:
            for answer in answers:
                sys.stdout.write(bulk.answer_line(answer) + "\n")
        meter.close(len(rejected))


class _Meter:
    """A statistics line on standard error: each second on a terminal, and one at the end."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.engine: Any = None
        self.started = self.shown = time.monotonic()
        self.live = sys.stderr.isatty()

    def tick(self, engine: Any) -> None:
        self.done += 1
        self.engine = engine
        if self.live and not self.done % 256 and time.monotonic() - self.shown >= 1:
            self.shown = time.monotonic()
            sys.stderr.write("\r" + self.line())

    def line(self) -> str:
        seconds = max(time.monotonic() - self.started, 1e-6)
        stats = self.engine.stats if self.engine else None
        by_status = sorted(stats.by_status.items()) if stats else []
        counts = " ".join(f"{status} {n:,}" for status, n in by_status)
        return f"{self.done:,} of {self.total:,} · {self.done / seconds:,.0f} names/s · {counts}"

    def close(self, rejected: int) -> None:
        end = f" · {rejected} lines left out" if rejected else ""
        sys.stderr.write(("\r" if self.live else "") + self.line() + end + "\n")
