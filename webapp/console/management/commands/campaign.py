"""``manage.py campaign``: plan, start, watch and end measurement campaigns."""

import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.errors import BadInput, NephoscopeError
from core.signals import caught
from tasks.campaigns import commands, conclusion, local_run, scheduler
from tasks.campaigns.import_results import Source, import_campaign
from tasks.campaigns.result_files import READERS, Asked
from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import ProductCommand
from webapp.store.access.visibility import OPERATOR
from webapp.store.campaigns import progress, selectors
from webapp.store.campaigns.plans import presets
from webapp.store.models import Campaign

_WATCH_S = 1.0
_FIELDS = ("name", "preset", "rounds", "round_s", "seed", "starts_at", "label")


class Command(ProductCommand):
    """Measurement campaigns: targets times vantage points times rounds."""

    help = "measurement campaigns: plan, start, status, import, list, …"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, text in (("plan", "what it would do and cost"), ("start", "start a campaign")):
            sub = actions.add_parser(name, help=text)
            _add_definition(sub)
            sub.add_argument("--here", action="store_true", help="measure from this machine")
        plan = actions.choices["plan"]
        plan.add_argument("--rehearse", action="store_true", help="simulate it on a virtual clock")
        plan.add_argument(
            "--dying", type=float, default=0.0, metavar="SHARE", help="of vantage points"
        )
        clone = actions.add_parser("clone", help="a copy with changes")
        clone.add_argument("campaign", metavar="CAMPAIGN")
        _add_definition(clone)
        for sub in (actions.choices["start"], clone):
            sub.add_argument("--wait", action="store_true", help="until it has ended")
        for name in ("status", *commands.ACTIONS):
            sub = actions.add_parser(name, help=f"{name} of a campaign")
            sub.add_argument("campaign", metavar="CAMPAIGN")
        actions.choices["status"].add_argument(
            "--tables", action="store_true", help="with all its tables"
        )
        _add_import(actions.add_parser("import", help="what others measured, as a campaign"))
        actions.add_parser("list", help="all campaigns")
        actions.add_parser("presets", help="schedules that come with the product")
        actions.add_parser("schedule", help="run the scheduler until stopped")
        for sub in actions.choices.values():
            sub.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}", self._change)(options)

    def _plan(self, options: dict[str, Any]) -> None:
        found = commands.plan(_asked(options), here=options["here"])
        document: dict[str, Any] = {
            "name": found.name,
            "schedule": found.schedule.as_json(),
            "predicted": found.predicted,
            "refusals": found.refusals,
        }
        if options["rehearse"]:
            document["rehearsal"] = commands.rehearsal(found, options["dying"])
        if options["json"]:
            self.write_json(document)
            return
        self.stdout.write(_cost_line(found.predicted))
        for refusal in found.refusals:
            self.stdout.write(f"  not possible: {refusal}")
        if options["rehearse"]:
            self.stdout.write(_rehearsal_line(document["rehearsal"]))

    def _start(self, options: dict[str, Any]) -> None:
        asked = _asked(options)
        before = _unfinished(asked) if options["here"] else None
        if before:
            self.write_note(f"resuming {before.slug}")
        found = before or commands.start(asked, here=options["here"])
        self.write_note(f"{found.slug}: {_cost_line(found.predicted)}")
        self._run_or_watch(found, options)

    def _clone(self, options: dict[str, Any]) -> None:
        changed = {k: v for k, v in _asked(options).items() if v}
        found = commands.clone(commands.find(options["campaign"]), changed)
        self.write_note(f"{found.slug}: {_cost_line(found.predicted)}")
        self._run_or_watch(found, options)

    def _run_or_watch(self, found: Campaign, options: dict[str, Any]) -> None:
        if found.in_process:
            show = self._show if sys.stderr.isatty() else None
            found = local_run.run_here(found, show=show)
        elif options["wait"]:
            self._watch(found)
        self._write_result(found, options)

    def _watch(self, found: Campaign) -> None:
        while not found.is_final:
            time.sleep(_WATCH_S)
            found.refresh_from_db()
            if sys.stderr.isatty():
                self._show(found)

    def _show(self, found: Campaign) -> None:
        p = progress.progress(found)
        sys.stderr.write(
            f"\rround {p['round'] or 0} of {p['rounds']} · {p['ok']:,} of {p['planned']:,} slots "
            f"measured, {p['failed']:,} failed, {p['missed']:,} missed   "
        )

    def _status(self, options: dict[str, Any]) -> None:
        self._write_result(commands.find(options["campaign"]), options)

    def _change(self, options: dict[str, Any]) -> None:
        found = commands.find(options["campaign"])
        if not commands.ACTIONS[options["action"]](found):
            raise NephoscopeError(f"{found.slug} is {found.state}; nothing was changed")
        self._write_result(found, options)

    def _write_result(self, found: Campaign, options: dict[str, Any]) -> None:
        found.refresh_from_db()
        whole = found.is_final or options.get("tables")
        if options["json"]:
            self.write_json(conclusion.document(found) if whole else progress.as_json(found))
        else:
            self._write_text(found, whole=bool(whole))
        if found.state == Campaign.State.FAILED:
            raise NephoscopeError(f"{found.slug} failed: {found.error}")

    def _write_text(self, found: Campaign, *, whole: bool) -> None:
        p = progress.progress(found)
        self.stdout.write(
            f"{found.slug}: {found.state}; {p['ok']:,} of {p['planned']:,} slots measured, "
            f"{p['late']:,} of them late, {p['failed']:,} failed, {p['missed']:,} missed"
        )
        if trouble := progress.find_blocker(found):
            self.stdout.write(f"  {'failed' if found.is_final else 'it waits'}: {trouble}")
        for kind, counts in progress.reasons(found).items():
            for reason, n in counts.items():
                self.stdout.write(f"  {kind}: {reason or 'without a reason'}: {n:,}")
        if whole:
            for table in selectors.tables(found).values():
                if table.headline:
                    self.stdout.write(f"  {table.headline}")

    def _import(self, options: dict[str, Any]) -> None:
        asked = Asked(
            options["form"] or "",
            round(options["round_s"]),
            options["unit"],
            options["provider"],
            tuple(options["region"]),
            options["servers"],
        )
        files = tuple(options["files"])
        found = import_campaign(Source(files, asked, options["name"] or "", options["label"] or ""))
        self.write_note(f"{found.slug}: at /wide-area/{found.slug}/")
        for note in found.notes:
            self.write_note(note)
        self._write_result(found, options)

    def _list(self, options: dict[str, Any]) -> None:
        rows = [progress.as_json(m) for m in selectors.campaigns(OPERATOR)]
        if options["json"]:
            self.write_json({"results": rows})
            return
        for row in rows:
            p = row["progress"]
            self.stdout.write(
                f"{row['campaign']}: {row['state']}, {row['vantages']} vantage points, "
                f"{row['targets']} targets, {p['ok']:,} of {p['planned']:,} slots"
            )

    def _presets(self, options: dict[str, Any]) -> None:
        if options["json"]:
            self.write_json({"results": [{"name": n, **d} for n, d in presets().items()]})
            return
        for name, data in presets().items():
            self.stdout.write(f"{name}: {data['title']}")

    def _schedule(self, options: dict[str, Any]) -> None:
        stop = threading.Event()
        self.write_note("scheduling; Ctrl-C ends it")
        with caught(stop.set, signal.SIGTERM):
            scheduler.run(stop)


def _add_import(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="+", type=input_file, metavar="FILE")
    parser.add_argument("--form", help=f"else told by the contents: {', '.join(READERS)}")
    parser.add_argument("--round-s", type=float, default=900, metavar="S", help="of a round")
    parser.add_argument("--unit", default="ms", help="of square tables and pairs: ms, s or us")
    parser.add_argument("--provider", default="aws", help="whose regions a matrix is about")
    parser.add_argument("--region", action="append", default=[], metavar="CITY", help="only to it")
    parser.add_argument(
        "--servers", type=input_file, metavar="F", help="WonderNetwork's servers by number"
    )
    parser.add_argument("--name")
    parser.add_argument("--label", help="shown beside every figure")


def _add_definition(parser: CommandParser) -> None:
    parser.add_argument("--name")
    parser.add_argument("--preset", help="see campaign presets; default latency")
    parser.add_argument(
        "--schedule", type=input_file, metavar="F", help="a schedule as TOML or JSON"
    )
    parser.add_argument("--rounds", type=int, metavar="N")
    parser.add_argument("--round-s", type=float, metavar="S", help="seconds of a round")
    parser.add_argument("--activity", action="append", default=[], metavar="NAME", help="only this")
    parser.add_argument("--target", action="append", default=[], metavar="HOST[:PORT]")
    parser.add_argument(
        "--targets", type=input_file, metavar="F", help="CSV with a column host, or JSON"
    )
    parser.add_argument("--vantage", action="append", default=[], metavar="NAME")
    parser.add_argument("--all-vantages", action="store_true", help="all that take work")
    parser.add_argument("--limit", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--allow-network", action="append", default=[], metavar="CIDR")
    parser.add_argument("--deny-network", action="append", default=[], metavar="CIDR")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--starts-at", metavar="TIME", help="not before, such as 2026-05-01T06:00Z")
    parser.add_argument("--label", help="shown beside every figure")


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    asked = {k: options[k] for k in _FIELDS if options.get(k) is not None}
    if options["schedule"]:
        asked["schedule"] = commands.read_file(
            read_input(options["schedule"]), str(options["schedule"])
        )
    asked["activities"] = options["activity"]
    asked["targets"] = [*options["target"], *_targets_in(options["targets"])]
    asked["vantages"] = _vantages(options)
    asked["limits"] = dict(_limit(text) for text in options["limit"])
    asked["allow"], asked["deny"] = options["allow_network"], options["deny_network"]
    return asked


def _targets_in(path: Path | None) -> list[Any]:
    return commands.read_target_file(read_input(path)) if path else []


def _vantages(options: dict[str, Any]) -> list[str]:
    if options.get("all_vantages"):
        return commands.default_vantages()
    return options["vantage"] or ([local_run.HERE] if options.get("here") else [])


def _limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise BadInput(f"{text!r} is not a limit such as NAME=N", field="--limit") from None


def _unfinished(asked: dict[str, Any]) -> Campaign | None:
    """The campaign of this name that an earlier start of this command did not finish."""
    return commands.unfinished_here(asked.get("name") or "")


def _rehearsal_line(found: dict[str, Any]) -> str:
    met = ", ".join(f"{name} {n}" for name, n in found["meetings"].items())
    return (
        f"  rehearsed: {found['counted']:,} of {found['slots']:,} slots "
        f"({found['coverage'] * 100:.2f} %), {found['died']} vantage points died, "
        f"{found['doubled']:,} doubled results dropped; at one target at once at most: {met}; "
        f"pairs that did not meet once a round: {found['wrong_pairs']}"
    )


def _cost_line(predicted: dict[str, Any]) -> str:
    hours, rest = divmod(round(predicted["duration_s"]), 3600)
    predicted_credits = "".join(f", {n:,} credits of {k}" for k, n in predicted["credits"].items())
    return (
        f"{predicted['vantages']} vantage points, {predicted['targets']} targets, "
        f"{predicted['rounds']} rounds: {predicted['probes']:,} probes, "
        f"{predicted['octets'] / 1e6:,.1f} MB, {hours} h {rest // 60} min{predicted_credits}"
    )
