"""``manage.py screening``: verdicts of logs and reports, simulated pools, and the site's pools."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from core.errors import BadInput
from tasks.screening import celery_tasks, files
from tasks.screening.files import Scenario
from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import ProductCommand
from webapp.store.access.visibility import OPERATOR
from webapp.store.screening import selectors, services, views
from webapp.store.screening.selectors import PoolRow
from webapp.store.screening.services import PoolSettings

DEFAULTS = Scenario()


class Command(ProductCommand):
    """Judge files, simulate, and look after the pools of this installation."""

    help = "screening of machines: verdict, simulate, pools, new-pool, token, choose, findings"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        verdict = actions.add_parser("verdict", help="judge logs and reports; - reads one")
        verdict.add_argument("files", nargs="+", type=input_file, metavar="FILE")
        simulate = actions.add_parser("simulate", help="errors and pay-off on a known pool")
        simulate.add_argument("--instances", type=int, default=DEFAULTS.instances, metavar="N")
        simulate.add_argument("--bad-share", type=float, default=DEFAULTS.bad_share, metavar="S")
        simulate.add_argument("--trials", type=int, default=DEFAULTS.trials, metavar="N")
        simulate.add_argument("--seed", type=int, default=DEFAULTS.seed, metavar="N")
        listing = actions.add_parser("pools", help="all pools of this installation")
        create = actions.add_parser("new-pool", help="a public pool and its token")
        create.add_argument("name", metavar="NAME")
        token = actions.add_parser("token", help="a further token of a pool")
        token.add_argument("--days", type=int, metavar="N", help="how long it lasts")
        choose = actions.add_parser("choose", help="the best machines of a pool")
        findings = actions.add_parser("findings", help="analyse a pool and show what was found")
        for sub in (token, choose, findings):
            sub.add_argument("pool", metavar="POOL", help="its key")
        for sub in (verdict, simulate, create):
            sub.add_argument("--low", type=float, default=DEFAULTS.low, metavar="N")
            sub.add_argument("--high", type=float, default=DEFAULTS.high, metavar="N")
        for sub in (simulate, create, choose):
            sub.add_argument("--wanted", type=int, metavar="N", help="good machines")
        for sub in (simulate, create):
            sub.add_argument("--price", type=float, default=0.0, metavar="P", help="of a launch")
        for sub in (verdict, simulate, listing, create, token, choose, findings):
            sub.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action'].replace('-', '_')}")(options)

    def _verdict(self, options: dict[str, Any]) -> None:
        for path in options["files"]:
            found = files.analyse_file(read_input(path), options["low"], options["high"])
            if options["json"]:
                self.write_json({"path": str(path), **found})
                continue
            self.stdout.write(f"{path}: {found['verdict']}")
            for row in found["series"]:
                self.stdout.write(_series_line(row))
            for reason in found["reasons"]:
                self.stdout.write(f"  {reason}")

    def _simulate(self, options: dict[str, Any]) -> None:
        names = ("instances", "bad_share", "low", "high", "wanted", "price", "trials", "seed")
        chosen = {name: options[name] for name in names if options[name] is not None}
        found = files.simulate(Scenario(**chosen))
        if options["json"]:
            self.write_json(found)
            return
        for line in _simulation_lines(found):
            self.stdout.write(line)

    def _pools(self, options: dict[str, Any]) -> None:
        rows = selectors.list_pools(OPERATOR)
        if options["json"]:
            self.write_json_lines(_pool_document(row) for row in rows)
            return
        if not rows:
            self.write_note("no pool yet; make one with: manage.py screening new-pool NAME")
        for row in rows:
            counts = ", ".join(f"{count} {name}" for name, count in row.verdicts.items())
            self.stdout.write(f"{row.key}  {row.name}: {row.n_instances:,} machines ({counts})")

    def _new_pool(self, options: dict[str, Any]) -> None:
        chosen = PoolSettings(
            name=options["name"],
            low=options["low"],
            high=options["high"],
            wanted=options["wanted"],
            price=options["price"],
        )
        row = services.create_pool(OPERATOR, chosen)
        self._show_token(options, row, None)

    def _token(self, options: dict[str, Any]) -> None:
        self._show_token(options, _find(options["pool"]), options["days"])

    def _show_token(self, options: dict[str, Any], row: PoolRow, days: int | None) -> None:
        _, secret = services.create_token(row, "console", days)
        if options["json"]:
            self.write_json({"pool": row.key, "token": secret})
            return
        self.stdout.write(f"pool {row.key}, token {secret}")
        self.stdout.write(f"curl -s SITE/agent | python3 - --pool {secret}")

    def _choose(self, options: dict[str, Any]) -> None:
        found = views.choose(_find(options["pool"]), options["wanted"])
        if options["json"]:
            self.write_json(asdict(found))
            return
        self.stdout.write(found.headline)
        for place, one in enumerate(found.chosen, 1):
            self.stdout.write(f"{place:4d}  {one.instance.name}: {one.why}")
        groups = {
            "spare": found.spare,
            "terminate": found.terminate,
            "measure again": found.measure_again,
            "own load": found.own_load,
        }
        for title, group in groups.items():
            if group:
                self.stdout.write(f"{title}:")
            for one in group:
                self.stdout.write(f"      {one.instance.name}: {one.why}")

    def _findings(self, options: dict[str, Any]) -> None:
        row = _find(options["pool"])
        celery_tasks.analyse(row.id)
        found = _find(options["pool"]).findings
        if options["json"]:
            self.write_json(found)
            return
        for name, own in found.items():
            self.stdout.write(f"{name}: {own.get('headline') or own.get('reason')}")


def _find(key: str) -> PoolRow:
    row = selectors.find_pool(OPERATOR, key)
    if row is None:
        raise BadInput(f"there is no pool {key!r}: screening pools lists them", field="pool")
    return row


def _pool_document(row: PoolRow) -> dict[str, Any]:
    return {
        name: getattr(row, name)
        for name in (
            "key",
            "name",
            "is_public",
            "low",
            "high",
            "wanted",
            "n_instances",
            "n_reports",
            "verdicts",
            "created_at",
            "last_report_at",
        )
    }


def _series_line(row: Mapping[str, Any]) -> str:
    figures = ", ".join(
        f"{name} {row[key]:,g} {row['unit']}"
        for name, key in (("p50", "p50"), ("p99", "p99"), ("p99.9", "p999"), ("max", "max"))
        if row.get(key) is not None
    )
    return f"  {row['name']} ({row['kind']}): {row.get('samples', 0):,} samples, {figures}"


def _simulation_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{found['instances']:,} machines, {found['bad_share']:.1%} of them bad; "
        f"at {found['low']:g} per 100 s: false positives {found['false_positive']:.3f}, "
        f"false negatives {found['false_negative']:.3f}, "
        f"with the network test {found['effective_false_negative']:.3f}"
    )
    factor = found["factor"]
    if "k" in factor:
        yield (
            f"K = {factor['k']:.2f} ({factor['low']:.2f} to {factor['high']:.2f}); "
            f"launch {factor['launches']:,}, cost {factor['cost']:g}"
        )
    payoff = found["payoff"]
    for curve in payoff["curves"] if payoff else ():
        yield f"{curve['model']}, fan-out {curve['fan_out']}: bad share, p99, p99.9 in ms"
        for point in curve["points"]:
            yield f"  {point['bad_share']:4.0%} {point['p99_ms']:8.2f} {point['p999_ms']:8.2f}"
