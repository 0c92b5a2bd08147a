"""The bulk resolver's command, which starts without Django.

Loading Django takes longer than to resolve ten thousand names.
"""

import argparse
import gc
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from core.environment import read_list
from core.errors import BadInput
from core.signals import STOPPING, caught
from tasks.resolution import resolve_command
from tasks.resolution.engine_factory import Resolving
from tasks.resolution.options import resolving_with
from webapp.console import parser as console_parser
from webapp.console.endings import INTERRUPTED, refusing

HELP = "bulk resolver; one JSON line or Parquet row per (name, type)"
# What a bulk run makes is freed by counting references; looking for cycles so often is in vain.
_OBJECTS_BETWEEN_COLLECTIONS = 200_000
Write = Callable[[str], object]


def main(argv: Sequence[str]) -> None:
    """Run the command with the arguments of a process, its own name included."""
    program = console_parser.name_program(argv[0], argv[1])
    parser = console_parser.StandaloneParser(prog=program, description=HELP)
    console_parser.add_base_options(parser)
    add_arguments(parser)
    console_parser.add_json_to_actions(parser)
    options = vars(parser.parse_args(argv[2:]))

    def refuse(text: str, code: int, error: Exception) -> NoReturn:
        if options["traceback"]:
            raise error
        _write_note(f"error: {text}")
        raise SystemExit(code) from error

    with refusing(refuse, _write_note):
        run(options, _write_line, _write_note)


def _write_line(text: str) -> None:
    sys.stdout.write(text + "\n")


def _write_note(text: str) -> None:
    sys.stderr.write(text + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
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
    console_parser.add_resolving(parser)


def run(options: dict[str, Any], write_line: Write, write_note: Write) -> None:
    """Resolve a list by the options of the command, or state the load that it would be.

    Raises ``BadInput`` and ``Unavailable``.
    """
    if options["dry_run"]:
        _write_load(options, write_line)
        return
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 20)
    meter = _Meter()
    job = _job_from(options)
    with caught(meter.stop, *STOPPING):
        progress = resolve_command.resolve_list(job, _resolving_from(options), meter.tick)
    for item in progress.names.rejected:
        write_note(f"line {item.line}: {item.text!r} left out: {item.reason}")
    meter.close(progress)
    if meter.stopped:
        again = "; the same command with --resume continues" if job.output else ""
        write_note(f"interrupted{again}")
        raise SystemExit(INTERRUPTED)


def _resolving_from(options: dict[str, Any]) -> Resolving:
    name_servers = read_list("NEPHOSCOPE_NAME_SERVERS")
    return resolving_with(options, name_servers, read_list("NEPHOSCOPE_ALLOWED_NETWORKS"))


def _write_load(options: dict[str, Any], write_line: Write) -> None:
    # It loads the list of public suffixes, which a run itself does without.
    from tasks.resolution.load_estimate import estimate_load  # noqa: PLC0415

    for row in estimate_load(_job_from(options), _resolving_from(options)):
        write_line(str(row))


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
