"""Compare what vantage points of a laboratory measured with the truth."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.campaigns.routes import diversity
from analysis.campaigns.routes.address_owners import Addresses
from analysis.campaigns.routes.downstream_isp import find_isps
from tasks.namespaces.campaigns import MDA_RISK, Extent, instances, name_of
from testbed.namespaces.multipath import chance_of, count_incomplete
from testbed.namespaces.topology import Topology
from testbed.namespaces.truth import Truth
from webapp.store.campaigns import progress, selectors
from webapp.store.models import Campaign

Row = dict[str, Any]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Seen:
    """Both campaigns, owners of addresses, and the amount of measurements."""

    inward: Campaign
    outward: Campaign
    addresses: Addresses
    extent: Extent

    @property
    def whole(self) -> int:
        """How many rounds there were before anything failed."""
        return self.extent.rounds - bool(self.extent.failing)

    @cached_property
    def samples(self) -> list[Row]:
        return _rows(self.inward, "samples")

    @cached_property
    def paths(self) -> list[Row]:
        return _rows(self.inward, "paths")

    @cached_property
    def routes(self) -> pa.Table:
        """The ISP of each path from the cloud."""
        return find_isps(selectors.parts(self.outward, "paths"), self.addresses)

    def routes_of(self, *, failed: bool) -> pa.Table:
        """Routes of the rounds before the failure, or of the one after."""
        late = pc.greater_equal(self.routes["round"], self.whole)
        return self.routes.filter(late if failed else pc.invert(late))


def compare(seen: Seen, before: Truth, after: Truth) -> Row:
    """All of it as plain data; ``failed`` is ``None`` where nothing was to fail."""
    kinds = {"samples": len(seen.samples), "paths": len(seen.paths) + seen.routes.num_rows}
    return {
        "vantages": len(seen.inward.vantages) + len(seen.outward.vantages),
        "rows": kinds,
        "progress": {m.slug: _progress(m) for m in (seen.inward, seen.outward)},
        "latency": list(_latencies(before, seen)),
        "throughput": list(_throughputs(before, seen)),
        "paths": (paths := list(_paths(before, seen))),
        "balancers": _balancers(paths),
        "isps": _isps(before, seen, failed=False),
        "failed": _failure(before, after, seen) if seen.extent.failing else None,
    }


def _progress(found: Campaign) -> Row:
    """How its slots ended, and why some did not run."""
    reasons = progress.reasons(found)
    return {**progress.progress(found), "reasons": reasons["missed"]}


def _rows(found: Campaign, kind: str) -> list[Row]:
    paths = selectors.parts(found, kind)
    return [row for path in paths for row in pq.read_table(path, use_threads=False).to_pylist()]


def _pairs(plan: Topology, extent: Extent) -> Iterator[Pair]:
    for vantage in plan.of_kind("vantage"):
        for instance in instances(plan, extent):
            yield vantage.name, instance.name


def _values(seen: Seen, probe: str) -> dict[Pair, list[float]]:
    """Values of each pair before the failure."""
    found: dict[Pair, list[float]] = {}
    for row in seen.samples:
        if row["probe"] == probe and row["round"] < seen.whole:
            pair = row["vantage"].removeprefix("lab-"), row["target"]
            found.setdefault(pair, []).extend(row["values"])
    return found


def _latencies(truth: Truth, seen: Seen) -> Iterator[Row]:
    """Mean round trips beside what is configured."""
    values = _values(seen, "tcp-ping")
    for vantage, instance in _pairs(truth.plan, seen.extent):
        own = values.get((vantage, instance), [])
        configured = truth.rtt_ms(vantage, instance)
        mean = fmean(own) if own else None
        # A machine that is busy keeps single packets back, which a mean of few does not bear.
        middle = median(own) if own else None
        yield {
            "vantage": vantage,
            "instance": instance,
            "n": len(own),
            "mean_ms": mean,
            "median_ms": middle,
            "configured_ms": configured,
            "difference_ms": None if mean is None else mean - configured,
            "median_off_ms": None if middle is None else middle - configured,
        }


def _throughputs(truth: Truth, seen: Seen) -> Iterator[Row]:
    """The fastest transfer beside the narrowest link on its way."""
    values = _values(seen, "throughput")
    for vantage, instance in _pairs(truth.plan, seen.extent):
        own = values.get((vantage, instance), [])
        yield {
            "vantage": vantage,
            "instance": instance,
            "n": len(own),
            "fastest_mbit": max(own) * 8e-6 if own else None,
            "narrowest_mbit": truth.rate_mbit(instance, vantage),
        }


def _paths(truth: Truth, seen: Seen) -> Iterator[Row]:
    """Hops of all ways beside those that are there; a hop that was not seen is no wrong one."""
    found: dict[Pair, set[tuple[int, str]]] = {}
    for row in seen.paths:
        if row["round"] < seen.whole:
            hops = {(h["ttl"], h["address"]) for h in row["hops"] if h["address"]}
            pair = row["vantage"].removeprefix("lab-"), row["target"]
            found.setdefault(pair, set()).update(hops)
    for vantage, instance in _pairs(truth.plan, seen.extent):
        ways = [truth.hops(vantage, w) for w in truth.paths(vantage, instance)]
        true = {(ttl, hop) for way in ways for ttl, hop in enumerate(way, 1) if hop}
        own = found.get((vantage, instance))
        seen_hops = own or set()
        balancers, incomplete = count_incomplete(ways, seen_hops) if own else (0, 0)
        yield {
            "vantage": vantage,
            "instance": instance,
            "ways": len(ways),
            "hops": len(true),
            "measured": own is not None,
            "seen": len(seen_hops & true),
            "wrong": len(seen_hops - true),
            "balancers": balancers,
            "incomplete": incomplete,
        }


def _balancers(paths: list[Row]) -> Row:
    """Balancers with a next hop that was not seen, and the chance of so many by the stopping rule.

    Rounds are taken together: their misses are not more likely than those of one round.
    """
    whole, incomplete = (sum(row[name] for row in paths) for name in ("balancers", "incomplete"))
    chance = chance_of(incomplete, whole, MDA_RISK)
    return {"n": whole, "incomplete": incomplete, "risk": MDA_RISK, "chance": chance}


def _isps(truth: Truth, seen: Seen, *, failed: bool) -> list[Row]:
    """ISPs by zone, as seen from the cloud and as they are."""
    found: dict[Pair, set[int]] = {}
    for row in seen.routes_of(failed=failed).to_pylist():
        if row["isp"] is not None and not row["doubtful"]:
            found.setdefault((row["region"], row["zone"]), set()).add(row["isp"])
    rows = []
    for node in instances(truth.plan, seen.extent):
        own = {truth.isp(node.name, v.name) for v in truth.plan.of_kind("vantage")} - {0}
        measured = found.get((node.region, node.zone), set())
        rows.append(
            {
                "region": node.region,
                "zone": node.zone,
                "true": sorted(own),
                "seen": sorted(measured),
                "equal": own == measured,
            }
        )
    return rows


def _failure(before: Truth, after: Truth, seen: Seen) -> Row:
    """Regions lost by the failure, as the comparison of the rounds reports them and as they are."""
    measured = diversity.compare_routes(seen.routes_of(failed=False), seen.routes_of(failed=True))
    plan, inner = before.plan, instances(before.plan, seen.extent)
    true = {
        (node.region, name_of(v))
        for v in plan.of_kind("vantage")
        for node in inner
        if not any(after.reachable(n.name, v.name) for n in inner if n.region == node.region)
    }
    lost = {(row["region"], row["end"]) for row in measured["lost"]}
    gone = sorted({row["isp"] for row in measured["gone"]})
    return {
        "isps": _isps(after, seen, failed=True),
        "gone": gone,
        "lost": sorted(lost),
        "truly_lost": sorted(true),
        "equal": lost == true,
    }
