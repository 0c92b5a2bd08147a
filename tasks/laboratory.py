"""The laboratory Internet measured by the product's own probes, kept as a campaign, and compared
with its truth."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address, ip_network
from statistics import fmean
from typing import Any

import pyarrow as pa

from analysis.wide_area.addresses import Addresses
from analysis.wide_area.isps import find_isps
from analysis.wide_area.tables import build
from cartography.origin_files import read_origins
from cartography.origins import OriginTable
from core.clock import SystemClock
from core.errors import BadInput, Unavailable
from lab import namespaces
from lab.ability import find_ability
from lab.laboratory import Laboratory
from lab.plan import Plan
from lab.sixbyfour import six_by_four
from lab.truth import (
    Truth,
    describe,
    exchange_prefixes,
    isps_by_zone,
    origin_lines,
    range_file,
    region_prefixes,
)
from lake.measurements import rows_of_result, table_of
from lake.parts import part_path, write_part
from probes import tcp_ping, throughput, traceroute
from probes.records import Target
from webapp.store import measurements, wide_area
from webapp.store.models import Measurement, MeasurementUnit, VantagePoint

LABEL = "Laboratory: network namespaces of one machine, with links whose delay is configured"
_OCTETS = 500_000
_CLOCK = SystemClock()
Row = dict[str, Any]
Tell = Callable[[str], None]


def description() -> Row:
    """What the laboratory is, what is true of it, and whether it can stand here."""
    ability = find_ability()
    return {
        **describe(Truth.of(six_by_four())),
        "ability": {**asdict(ability), "words": ability.words},
        "origins": origin_lines(six_by_four()),
        "ranges": range_file(six_by_four()),
        "exchanges": exchange_prefixes(six_by_four()),
    }


def stand() -> Laboratory:
    """The laboratory, to be used as a context; raises ``Unavailable`` with the reason."""
    ability = find_ability()
    if ability.reason:
        raise Unavailable(ability.words)
    return Laboratory(six_by_four())


def sweep() -> Row:
    """Remove what dead laboratories left; those that live are told by their process."""
    return {"removed": namespaces.sweep(), "living": namespaces.laboratories()}


def run(rounds: int, failing: int, tell: Tell) -> Row:
    """Measure some rounds, keep them as a campaign, compare them with the truth.

    In the last round the links of the AS ``failing`` are down, unless it is 0. Raises
    ``BadInput`` and ``Unavailable``.
    """
    plan = six_by_four()
    if failing and failing not in {n.asn for n in plan.nodes if n.asn != plan.cloud_asn}:
        raise BadInput(f"AS{failing} is none of the laboratory's", field="failing")
    if rounds < 1:
        raise BadInput("there is at least one round", field="rounds")
    begun = datetime.now(UTC)
    samples, paths = [], []
    with stand() as lab:
        truth = lab.truth
        for number in range(rounds):
            if failing and number == rounds - 1:
                lab.fail(plan.links_of_as(failing))
            samples += _everywhere(lab, "vantage", partial(_samples, lab, number))
            paths += _everywhere(lab, "instance", partial(_paths, lab, number))
            tell(f"round {number + 1} of {rounds}")
        after = lab.truth
    routes = find_isps(table_of("paths", paths), address_book(plan))
    made = _store(plan, (begun, rounds), samples, paths, routes)
    last = {rounds - 1} if failing else set()
    return {
        "campaign": made.slug,
        "rows": {"samples": len(samples), "paths": len(paths)},
        "latency": list(_latencies(truth, samples, last)),
        "isps": _isp_table(truth, routes, set(range(rounds)) - last),
        "failed": _isp_table(after, routes, last) if failing else None,
    }


def address_book(plan: Plan) -> Addresses:
    """Whose each address of the laboratory is, by its own tables."""
    origins = OriginTable.build(read_origins(origin_lines(plan).encode()))
    ranges = [(ip_network(prefix), region) for prefix, region in region_prefixes(plan)]

    def clouds(addresses: Sequence[str]) -> list[tuple[str, str]]:
        found = (next((r for n, r in ranges if ip_address(a) in n), "") for a in addresses)
        return [(plan.provider, region) if region else ("", "") for region in found]

    own = {plan.provider: frozenset({plan.cloud_asn})}
    return Addresses(origins.find_many, clouds, exchange_prefixes(plan), own)


def _everywhere(lab: Laboratory, kind: Any, work: Callable[[str], list[Row]]) -> list[Row]:
    """Rows from all nodes of a kind, each in its own namespace, all at once."""
    starts = [node.name for node in lab.plan.of_kind(kind)]
    with ThreadPoolExecutor(len(starts)) as pool:
        found = [pool.submit(lab.inside, s, partial(work, s)) for s in starts]
        return [row for rows in found for row in rows.result()]


def _place(plan: Plan, number: int, start: str, end: str, cloud: str) -> Row:
    node = plan.by_name[cloud]
    return {"round": number, "vantage": start, "target": end, "provider": plan.provider,
            "region": node.region, "zone": node.zone}  # fmt: skip


def _samples(lab: Laboratory, number: int, start: str) -> list[Row]:
    rows = []
    for end in lab.plan.of_kind("instance"):
        target = Target(lab.plan.home(end.name), 80, path=f"/octets/{_OCTETS}")
        place = _place(lab.plan, number, start, end.name, end.name)
        ping = tcp_ping.run(target, tcp_ping.Config(interval_s=0.02, timeout_s=0.5), _CLOCK)
        rows += rows_of_result(ping.as_json(), place)[1]
        if end.zone == "a":
            config = throughput.Config(octets=_OCTETS, timeout_s=5.0)
            got = throughput.run(target, config, _CLOCK)
            rows += rows_of_result(got.as_json(), place)[1]
    return rows


def _paths(lab: Laboratory, number: int, start: str) -> list[Row]:
    config = traceroute.Config(timeout_s=0.3, silent_hops=3, window=8, interval_s=0.002)
    rows = []
    for end in lab.plan.of_kind("vantage"):
        path = traceroute.run(Target(lab.plan.home(end.name)), config, _CLOCK)
        place = _place(lab.plan, number, start, end.name, start)
        rows += rows_of_result(path.as_json(), {**place, "direction": "from"})[1]
    return rows


def _latencies(truth: Truth, samples: list[Row], without: set[int]) -> Iterator[Row]:
    """Mean round trips beside what is configured."""
    values: dict[tuple[str, str], list[float]] = {}
    for row in samples:
        if row["probe"] == "tcp-ping" and row["round"] not in without:
            values.setdefault((row["vantage"], row["target"]), []).extend(row["values"])
    for (vantage, instance), own in sorted(values.items()):
        configured = truth.rtt_ms(vantage, instance)
        mean = fmean(own) if own else None
        yield {"vantage": vantage, "instance": instance, "n": len(own), "mean_ms": mean,
               "configured_ms": configured,
               "difference_ms": None if mean is None else mean - configured}  # fmt: skip


def _isp_table(truth: Truth, routes: pa.Table, rounds: set[int]) -> list[Row]:
    """ISPs by zone, as seen in some rounds and as they are."""
    seen: dict[tuple[str, str], set[int]] = {}
    for row in routes.to_pylist():
        if row["isp"] is not None and not row["doubtful"] and row["round"] in rounds:
            seen.setdefault((row["region"], row["zone"]), set()).add(row["isp"])
    return [
        {"region": r, "zone": z, "true": sorted(own), "seen": sorted(seen.get((r, z), set())),
         "equal": own == seen.get((r, z), set())}
        for (r, z), own in isps_by_zone(truth).items()
    ]  # fmt: skip


def _store(
    plan: Plan, when: tuple[datetime, int], samples: list[Row], paths: list[Row], routes: pa.Table
) -> Measurement:
    """A finished campaign, labelled as what it is."""
    begun, rounds = when
    for node in plan.of_kind("vantage"):
        city, country = node.place.split(", ")
        VantagePoint.objects.get_or_create(
            name=f"lab-{node.name}",
            defaults={"source": VantagePoint.Source.SYNTHETIC, "city": city, "country": country,
                      "state": VantagePoint.State.JOINED, "provider": "Laboratory",
                      "asn": node.asn},
        )  # fmt: skip
    made = Measurement.objects.create(
        slug=measurements.free_slug("laboratory"), name="Laboratory: six by four",
        state=Measurement.State.RUNNING, preset="", synthetic=True, label=LABEL, seed=1,
        schedule=_schedule(rounds), started_at=begun,
        targets=[{"name": n.name, "host": plan.home(n.name), "provider": plan.provider,
                  "region": n.region, "zone": n.zone} for n in plan.of_kind("instance")],
        vantages=[f"lab-{n.name}" for n in plan.of_kind("vantage")],
    )  # fmt: skip
    units = [_part(made, "samples", _named(plan, samples)), _part(made, "paths",
                                                                  _named(plan, paths))]  # fmt: skip
    MeasurementUnit.objects.bulk_create(units)
    names = {n.asn: n.name.partition("-")[0] for n in plan.of_kind("router")}
    built = build(wide_area.parts(made, "samples"), routes, names)
    wide_area.save_tables(made, built.reports, built.files)
    made.state, made.finished_at = Measurement.State.FINISHED, datetime.now(UTC)
    made.summary = {"rows": {"samples": len(samples), "paths": len(paths)},
                    "coverage": {"planned": 2, "done": 2}}  # fmt: skip
    made.save(update_fields=["state", "finished_at", "summary"])
    return made


def _named(plan: Plan, rows: list[Row]) -> list[Row]:
    """Vantage points by the names that the store knows them by."""
    own = {node.name for node in plan.of_kind("vantage")}
    ends = ("vantage", "target")
    return [{**r, **{k: f"lab-{r[k]}" for k in ends if r[k] in own}} for r in rows]


def _schedule(rounds: int) -> Row:
    probes = {"ping": "tcp-ping", "get": "throughput", "trace": "traceroute"}
    activities = [{"name": n, "probe": p, "options": {}} for n, p in probes.items()]
    return {"round_s": 10.0, "rounds": rounds, "activities": activities, "title": "Laboratory"}


def _part(made: Measurement, kind: str, rows: list[Row]) -> MeasurementUnit:
    path = part_path(wide_area.lake_root(), made.slug, kind, kind)
    number = write_part(path, kind, table_of(kind, rows))
    return MeasurementUnit(
        measurement=made, key=kind, activity=kind, vantage="laboratory", round=0, starts_s=0.0,
        ends_s=made.schedule["rounds"] * made.schedule["round_s"], slots=number,
        state=MeasurementUnit.State.DONE, attempt=1, rows={kind: number}, part=kind,
        counters={"ok": number}, finished_at=made.started_at,
    )  # fmt: skip
