"""``manage.py regions``: the provably best k regions for given clients."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import django
from django.core.management.base import CommandParser

from core.errors import BadInput
from core.wording import SMALL
from webapp.console.input_files import input_file
from webapp.console.product_command import ProductCommand, prepare_store, read_date

_MANY = ("include", "exclude", "provider", "country", "continent", "presence", "current")
_FILES = (
    *("weights", "regions", "clients", "isps", "prices", "price_list", "populations", "beside"),
    *("domains", "group_clients", "carbon"),
)
_NUMBERS = {
    "percentile": "P",
    "penalty": "V",
    "price-ceiling": "P",
    "max-carbon": "G",
    "budget": "P",
    "joint-cost": "P",
    "within": "SHARE",
    "traffic-gb": "N",
    "between-gb": "N",
    "region-availability": "A",
    "zone-availability": "A",
    "provider-availability": "A",
    "after-loss-ms": "MS",
    "after-loss-share": "SHARE",
}
# Domains that lines list, the largest regrets first; --json lists more.
MOST_DOMAIN_LINES = 10
MOST_FRONT_LINES = 40


class Command(ProductCommand):
    """Where a deployment should be."""

    help = "regions: recommend, clients, model"
    needs_store = False

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        take = actions.add_parser(
            "recommend",
            help="the best k regions, with proof",
            description="Recommend the best k regions, with proof. SAMPLES is a CSV or a Parquet "
            "file of the columns round, client, region and value: one row per round, client and "
            "region; an empty or null value is a missing answer. Parquet is recognised by its "
            "first bytes, and is read some ten times faster than CSV.",
        )
        take.add_argument(
            "samples",
            type=input_file,
            metavar="SAMPLES",
            help="CSV or Parquet of round,client,region,value",
        )
        take.add_argument("--k", metavar="N or A..B", help="sizes of sets; default 1..8")
        take.add_argument("--objective", choices=("latency", "throughput"), default="latency")
        take.add_argument(
            "--worst-country",
            action="store_true",
            help="the mean of the country that is served worst, by --clients",
        )
        take.add_argument("--missing", choices=("penalty", "exclude"), default="penalty")
        take.add_argument(
            "--format", choices=("samples", "square", "city-pairs"), default="samples"
        )
        for name in _MANY:
            take.add_argument(f"--{name}", action="append", default=[], metavar=name.upper())
        for name in _FILES:
            take.add_argument(f"--{name.replace('_', '-')}", type=input_file, metavar="F")
        for name, unit in _NUMBERS.items():
            take.add_argument(f"--{name}", type=float, metavar=unit)
        take.add_argument("--per-provider", type=int, metavar="N", help="at most so many of each")
        take.add_argument(
            "--joint-budget", type=int, metavar="N", help="regions that all domains share"
        )
        take.add_argument("--min-zones", type=int, metavar="N", help="of each chosen region")
        take.add_argument("--min-isps", type=int, metavar="N", help="of each chosen region")
        take.add_argument(
            "--front",
            action="store_true",
            help="the Pareto front of cost, value and value after a loss",
        )
        take.add_argument("--survive-loss", action="store_true", help="the worst case after one")
        take.add_argument("--time-limit", type=float, dest="time_limit_s", metavar="S")
        take.add_argument("--draws", type=int, metavar="N", help="0: no intervals; default 200")
        take.add_argument("--seed", type=int, metavar="N")
        take.add_argument("--json", action="store_true")
        model = actions.add_parser(
            "model", help="show the model of round-trip times, or fit one to measured pairs"
        )
        model.add_argument(
            "pairs", nargs="*", type=input_file, metavar="PAIRS", help="CSV: source,destination,rtt"
        )
        model.add_argument(
            "--places", type=input_file, metavar="F", help="CSV: place,latitude,longitude"
        )
        model.add_argument(
            "--campaign",
            action="append",
            default=[],
            metavar="SLUG",
            help="measured round-trip times",
        )
        model.add_argument("--json", action="store_true")

        _add_clients(actions)

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _clients(self, options: dict[str, Any]) -> None:
        django.setup()
        prepare_store()
        from tasks.clients import access_logs  # noqa: PLC0415

        found = access_logs.count_files(options["log"], options["as_of"])
        if options["json"]:
            self.write_json(found)
            return
        for key, count in found["weights"][options["by"]].items():
            self.stdout.write(f"{key}\t{count:.0f}")
        for line in access_logs.summary_lines(found):
            self.write_note(line)

    def _model(self, options: dict[str, Any]) -> None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from tasks.recommendations import latency_model  # noqa: PLC0415

        if options["pairs"] or options["campaign"]:
            files = [_file(path) for path in options["pairs"]]
            places = {}
            if options["places"]:
                places = latency_model.read_places_file(_file(options["places"]))
            about = latency_model.fit_model(
                files, places, _campaign_pairs(options["campaign"], places)
            )
        else:
            about = dict(latency_model.current_model().about)
        if options["json"]:
            self.write_json(about)
            return
        for line in _model_lines(about):
            self.stdout.write(line)

    def _recommend(self, options: dict[str, Any]) -> None:
        # The products of this job are small: more threads only wait for each other, busily.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # Loaded here, so that help and bad options are not kept waiting for the solver.
        from tasks.recommendations.request import ask, read  # noqa: PLC0415
        from tasks.recommendations.solve import recommend  # noqa: PLC0415

        files = {name: _file(options[name]) for name in _FILES if options[name]}
        known = read(_file(options["samples"]), files, form=options["format"], parquet=True)
        question = ask(known, options)
        document = recommend(question, self._progress if sys.stderr.isatty() else None)
        if options["json"]:
            self.write_json(document)
            return
        for line in _lines(document):
            self.stdout.write(line)
        for line in _note_lines(document):
            self.write_note(line)

    def _progress(self, step: str, done: int, of: int) -> None:
        self.write_note(f"{done} of {of} done, now {step}")


def _add_clients(actions: Any) -> None:
    take = actions.add_parser(
        "clients",
        help="weights of clients from access logs; no address is kept",
        description="Count the requests of access logs (common, combined, CloudFront, AWS load "
        "balancer, JSON objects; plain or gzip) by the country, city or network of the client.",
    )
    # Read as it comes: a copy of standard input would keep addresses on disk.
    take.add_argument(
        "log",
        nargs="+",
        type=lambda text: Path("/proc/self/fd/0" if text == "-" else text),
        metavar="LOG",
    )
    take.add_argument("--by", choices=("country", "city", "network"), default="country")
    take.add_argument("--as-of", type=read_date, metavar="DATE", help="day of the address tables")
    take.add_argument("--json", action="store_true")


def _file(path: Path) -> Path:
    if path.is_dir():
        raise BadInput(f"cannot read {path}: it is a folder")
    if not path.exists():
        raise BadInput(f"cannot read {path}: there is no such file")
    return path


def _campaign_pairs(slugs: list[str], places: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    if not slugs:
        return {}
    django.setup()
    prepare_store()
    from tasks.campaigns.commands import find  # noqa: PLC0415
    from tasks.recommendations.campaign_pairs import campaign_pairs  # noqa: PLC0415

    return {slug: campaign_pairs(find(slug), places) for slug in slugs}


def _model_lines(about: Mapping[str, Any]) -> Iterator[str]:
    if about["kind"] == "distance":
        yield (
            "stated model of distance: {access_ms:g} ms + {stretch:g} × light time, median error "
            "{error:.0%} of {pairs:,} pairs of countries".format(**about)
        )
        return
    for row in about["inputs"]:
        yield "{kind}\t{name}\t{sources:,} sources\t{pairs:,} pairs".format(**row)
        if row.get("unknown"):
            yield f"places not known, left out: {', '.join(row['unknown'])}"
    if about.get("impossible"):
        yield f"faster than light in vacuum, left out: {about['impossible']:,} pairs"
    yield "held out\tpairs\tmedian error\tp90 error"
    held = {
        "places": about["held_out"],
        **about["continents"],
        "places, stated model": about["stated_held_out"],
        "pairs": about["held_out_pairs"],
        "pairs, stated model": about["stated_held_out_pairs"],
    }
    for name, row in held.items():
        errors = f"{row['median']:.1%}\t{row['p90']:.1%}" if row["pairs"] >= SMALL else "-\t-"
        yield f"{name}\t{row['pairs']:,}\t{errors}"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    for row in document["results"]:
        if not row["regions"]:
            yield f"{row['k']}\tnone: {row['reason']}"
            continue
        proof = "proven" if row["proven"] else f"gap {row['gap']:.2%}"
        ends = row["interval"]
        between = f"{ends[0]:.3f} to {ends[1]:.3f}" if ends else "-"
        yield f"{row['k']}\t{row['value']:.3f}\t{between}\t{proof}\t{', '.join(row['regions'])}"


def _note_lines(document: Mapping[str, Any]) -> Iterator[str]:
    counts = "{n_clients:,} clients, {n_rounds:,} rounds, {n_regions:,} regions".format(**document)
    yield f"{counts}, {document['missing']:,} missing values"
    if document["left_out"]:
        yield f"{document['left_out']:,} client-rounds are left out: no region answered"
    for row in document["results"]:
        if row["unanswered"]:
            share = f"{row['unanswered_share']:.2%} of the weight"
            yield f"k = {row['k']}: {row['unanswered']:,} client-rounds unanswered, {share}"
        if row["countries"]:
            yield _worst_country_line(row)
    yield "columns: k, value, interval of 95 in 100 draws, proof, regions"
    current = document["current"]
    if current and current["regret"] is not None:
        yield (
            f"the current deployment gives {current['value']:.3f}, {current['regret']:.3f} worse "
            f"than the best of its size"
        )
    yield from _domain_lines(document["domains"])
    yield from _joint_lines(document["joint"])
    yield from _front_lines(document["front"], document["prices"])


def _worst_country_line(row: Mapping[str, Any]) -> str:
    worst = row["countries"][0]
    value = worst["value"] if worst["after_loss"] is None else worst["after_loss"]
    text = f"{worst['country']}, {value:.3f}, n = {worst['clients']:,} clients"
    return f"k = {row['k']}: worst of {len(row['countries']):,} countries: {text}"


def _joint_lines(found: Mapping[str, Any] | None) -> Iterator[str]:
    if not found:
        return
    spent = f"{found['spent']:,.2f} a month" if found["is_money"] else f"{found['spent']:g} regions"
    state = "optimal" if found["proven"] else "of the best sets known, not all of them proven"
    uniform = found["uniform"]
    yield (
        f"{spent} divided among {found['n']:,} groups of {found['n_domains']:,} domains, {state}: "
        f"{found['value']:.3f}"
        + (f"; {uniform['k']} for each give {uniform['value']:.3f}" if uniform else "")
    )
    for row in found["rows"][:MOST_FRONT_LINES]:
        regions = ", ".join(row["regions"])
        yield f"{row['group']}\t{row['domains']}\t{row['k']}\t{row['value']:.3f}\t{regions}"


def _front_lines(
    found: Mapping[str, Any] | None, prices: Mapping[str, Any] | None
) -> Iterator[str]:
    if not found:
        return
    yield (
        f"{found['n']:,} sets that no other of {found['evaluated']:,} beats in cost, value and "
        "value after the worst loss at once:"
    )
    for row in found["rows"][:MOST_FRONT_LINES]:
        after = "-" if row["after_loss"] is None else f"{row['after_loss']:.3f}"
        yield f"{row['cost']:.2f}\t{row['value']:.3f}\t{after}\t{', '.join(row['regions'])}"
    for one in prices["sources"] if prices else ():
        yield "prices of {provider}: {source}, as of {as_of}".format(**one)
    if found["unpriced"]:
        yield f"without a price, in no set: {', '.join(found['unpriced'])}"


def _domain_lines(found: Mapping[str, Any] | None) -> Iterator[str]:
    if not found or found["value"] is None:
        return
    yield (
        f"{found['compared']:,} of {found['n']:,} domains: {found['value']:.3f} now, "
        f"{found['best_value']:.3f} by the best sets of as many regions"
    )
    for row in found["rows"][:MOST_DOMAIN_LINES]:
        moves = [
            f"{verb} {change['region']}: {change['value']:.3f}"
            for verb, change in (_describe_move(row["move"]), ("add", row["addition"]))
            if change
        ]
        found_moves = "; ".join(moves) or "no single change gains"
        yield f"{row['domain']}: {row['value']:.3f}, {row['regret']:.3f} worse; {found_moves}"


def _describe_move(move: Mapping[str, Any] | None) -> tuple[str, Mapping[str, Any] | None]:
    return (f"{move['instead_of']} to", move) if move else ("", None)
