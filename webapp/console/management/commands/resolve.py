"""``manage.py resolve``: the bulk resolver."""

import gc
import signal
import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.errors import BadInput
from core.signals import STOPPING, caught
from tasks.resolution import resolve_command
from tasks.resolution.options import resolving_from
from webapp.console.product_command import INTERRUPTED, ProductCommand, add_resolving

# What a bulk run makes is freed by counting references; looking for cycles so often is in vain.
_OBJECTS_BETWEEN_COLLECTIONS = 200_000


class Command(ProductCommand):
    """Resolve names in bulk: one JSON line or row per (name, type)."""

    help = "bulk resolver; one JSON line or Parquet row per (name, type)"
    needs_store = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names_file", metavar="NAMES_FILE", help="file, or - for stdin")
        parser.add_argument(
            "--type", action="append", default=[], metavar="T", help="default A; may be repeated"
        )
        parser.add_argument("--output", metavar="F", help="write .jsonl or .parquet instead")
        parser.add_argument("--resume", action="store_true", help="go on with an unfinished run")
        parser.add_argument("--subnet", metavar="CIDR", help="EDNS client subnet to ask for")
        parser.add_argument("--case-mixing", action="store_true", help='random case ("0x20")')
        parser.add_argument(
            "--zone-rate", type=float, metavar="N", help="queries per second and domain"
        )
        parser.add_argument(
            "--total-rate",
            type=float,
            metavar="N",
            help="queries per second to all servers together",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="ask nothing; print the load on each server"
        )
        parser.add_argument(
            "--no-compiled", action="store_true", help="use the engine without its compiled loop"
        )
        parser.add_argument("--iterative", action="store_true", help="go down from root servers")
        parser.add_argument(
            "--root-server",
            action="append",
            default=[],
            metavar="IP[:PORT]",
            help="where --iterative begins",
        )
        parser.add_argument(
            "--allow-network",
            action="append",
            default=[],
            metavar="CIDR",
            help="ask name servers that were found in this network, too",
        )
        add_resolving(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self._print_load(options)
            return
        gc.freeze()
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 20)
        meter = _Meter()
        job = _job_from(options)
        with caught(meter.stop, *STOPPING):
            progress = resolve_command.resolve_list(job, resolving_from(options), meter.tick)
        for item in progress.names.rejected:
            self.write_note(f"line {item.line}: {item.text!r} left out: {item.reason}")
        meter.close(progress)
        if meter.stopped:
            again = "; the same command with --resume continues" if job.output else ""
            self.write_note(f"interrupted{again}")
            raise SystemExit(INTERRUPTED)

    def _print_load(self, options: dict[str, Any]) -> None:
        # It loads the list of public suffixes, which a run itself does without.
        from tasks.resolution.load_estimate import estimate_load  # noqa: PLC0415

        for row in estimate_load(_job_from(options), resolving_from(options)):
            self.stdout.write(str(row))


def _job_from(options: dict[str, Any]) -> resolve_command.ListJob:
    output = Path(options["output"]) if options["output"] else None
    if output and output.suffix not in (".jsonl", ".parquet"):
        raise BadInput("must end in .jsonl or .parquet", field="output")
    return resolve_command.ListJob(
        names_file=options["names_file"],
        types=resolve_command.check_types(options["type"]),
        subnet=resolve_command.check_subnet(options["subnet"] or ""),
        output=output,
        resume=options["resume"],
        iterative=options["iterative"],
        compiled=not options["no_compiled"],
    )


class _Meter:
    """A statistics line on standard error: each second on a terminal, and one at the end.

    It notes the wish to stop, too: a second one ends the process at once.
    """

    def __init__(self) -> None:
        self.stopped = False
        self.started = self.shown = time.monotonic()
        self.live = sys.stderr.isatty()

    def stop(self) -> None:
        """End soon; after this Ctrl-C ends the process as usual."""
        self.stopped = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def tick(self, progress: resolve_command.Progress) -> bool:
        if self.live and time.monotonic() - self.shown >= 1:
            self.shown = time.monotonic()
            sys.stderr.write("\r\x1b[K" + self._line(progress))
            sys.stderr.flush()
        return not self.stopped

    def _line(self, progress: resolve_command.Progress) -> str:
        seconds = max(time.monotonic() - self.started, 1e-6)
        here = progress.done - (progress.earlier.done if progress.earlier else 0)
        stats = progress.asker.stats
        counts = " ".join(f"{s} {n:,}" for s, n in sorted(progress.by_status().items()))
        total = f" of {progress.total:,}" if progress.total and not self._is_over(progress) else ""
        parts = [
            f"{progress.done:,}{total}",
            f"{here / seconds:,.0f} names/s",
            counts,
            f"{stats.queries:,} queries, {stats.retries:,} retries",
        ]
        return " · ".join(part for part in parts if part)

    def _is_over(self, progress: resolve_command.Progress) -> bool:
        return progress.asker.is_over

    def close(self, progress: resolve_command.Progress) -> None:
        left_out = progress.names.rejected_count
        end = f" · {left_out:,} lines left out" if left_out else ""
        sys.stderr.write(("\r\x1b[K" if self.live else "") + self._line(progress) + end + "\n")
