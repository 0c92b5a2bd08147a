"""Check claims about probes in a running laboratory; each is printed as a line.

Every claim is a sentence and what is wrong with it, which is nothing where it holds.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from ipaddress import ip_address, ip_network
from math import comb
from statistics import fmean
from typing import Any

from analysis.campaigns.routes import diversity
from analysis.campaigns.routes.address_owners import Addresses
from analysis.campaigns.routes.downstream_isp import find_isps
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from core.clock import SystemClock
from lake.campaigns import rows_of_result, table_of
from probes.kinds import jitter, throughput, traceroute
from probes.packets.hops import Path, count_paths
from probes.records import Target
from testbed.namespaces.laboratory import Laboratory
from testbed.namespaces.multipath import UNEXPLAINED, chance_of, count_incomplete
from testbed.namespaces.topology import Family
from testbed.namespaces.truth import (
    exchange_prefixes,
    isps_by_zone,
    origin_lines,
    region_prefixes,
)

CLOCK = SystemClock()
AT_ONCE = 3
MDA_RISK = 0.001
PROTOCOLS = ("udp", "icmp", "tcp")
# Packets per flow, flows per pair, and number of pairs behind load balancers.
FLOW_TRIES, FLOWS, FLOW_PAIRS = 5, 6, 8
LOSSES, STREAM = (0.01, 0.05, 0.1), 600
OCTETS, NEAR, TRIES = 1_000_000, 0.05, 5
# Streams: delays are uniform within ± so many ms and packets far enough apart to stay in order.
JITTER_MS, DROP, PACKETS, PACE_S = 8.0, 0.05, 150, 0.04
IPERF3 = shutil.which("iperf3") or ""
Claim = tuple[str, list[str]]
Pair = tuple[str, str]


def all_of(lab: Laboratory) -> Iterator[Claim]:
    """All claims but those on round trips, which are measured by separate processes."""
    for claim in (losses, streams, transfers, hops, flows, multipath_routes, isps):
        yield claim(lab)
    yield failure(lab)


def losses(lab: Laboratory) -> Claim:
    """A stream over a link with configured loss, in both directions."""
    start, end, number = _clean_route(lab)
    line = lab.plan.links[number].line
    counts, wrong = [], []
    there_and_back = (*lab.truth.paths(start, end)[0], *lab.truth.paths(end, start)[0])
    for loss in LOSSES:
        lab.shape(number, replace(line, loss=loss, rate_mbit=0.0))
        config = jitter.Config(count=STREAM, interval_s=0.002, timeout_s=0.5)
        target = Target(lab.plan.home(end))
        found = lab.run_inside(start, lambda t=target, c=config: jitter.run(t, c, CLOCK))
        low, high = interval(STREAM, 1 - (1 - loss) ** there_and_back.count(number))
        counts.append(f"{found.lost} in {low}–{high}")
        if not low <= found.lost <= high or found.sent != STREAM:
            wrong.append(f"{loss:.0%} each way: {found.lost} of {found.sent} lost, {low} to {high}")
    lab.shape(number, line)
    return f"loss in the binomial 99 % interval of {STREAM}: {', '.join(counts)}", wrong


def streams(lab: Laboratory) -> Claim:
    """Jitter and loss of all vantage points to an instance of each region, beside other tools.

    Uplinks have a uniform delay of ±8 ms and lose 5 %. RFC 3550's jitter estimates the mean of
    |D|: of four independent delays in a round trip it is 14/15 of 8 ms, of the two of ``iperf3``,
    which measures one direction, 2/3. Estimates of single streams vary by some 13 %.
    """
    if shutil.which("iperf3") is None or shutil.which("ping") is None:
        return "jitter is not compared: there is no iperf3 or no ping", []
    ends = list({n.region: n.name for n in lab.plan.of_kind("instance")}.values())
    starts = [node.name for node in lab.plan.of_kind("vantage")]
    uplinks = {n for s in starts for n in _uplinks(lab, s)}
    for number in uplinks:
        line = lab.plan.links[number].line
        lab.shape(number, replace(line, loss=DROP, jitter_ms=JITTER_MS, rate_mbit=0.0))
    servers = [
        lab.start(end, [IPERF3, "-s", "-p", str(5201 + n)], stdout=subprocess.DEVNULL)
        for n in range(len(starts))
        for end in ends
    ]
    try:
        rows = _everywhere(lab, lambda s: _streams_from(lab, s, ends, starts.index(s)), starts)
    finally:
        for server in servers:
            server.kill()
            server.wait()
        for number in uplinks:
            lab.shape(number, lab.plan.links[number].line)
    return _compare_streams(rows)


def _uplinks(lab: Laboratory, start: str) -> list[int]:
    """Links of a vantage point's router that have a delay."""
    links = lab.plan.links_by_node[f"{start}-gw"]
    return [n for n in links if not lab.plan.links[n].line.plain]


def _streams_from(lab: Laboratory, start: str, ends: list[str], number: int) -> list[Any]:
    from tests.testbed.namespaces.reference import iperf3_stream, lost_pings  # noqa: PLC0415

    rows = []
    for turn in range(len(ends)):
        end = ends[(turn + number) % len(ends)]
        home = lab.plan.home(end)
        config = jitter.Config(count=PACKETS, interval_s=PACE_S, timeout_s=0.5)
        # Packets of both are few: neither delays the other's.
        with lost_pings(home, PACKETS, PACE_S) as lost:
            own = jitter.run(Target(home), config, CLOCK)
        one_way = iperf3_stream(home, 5201 + number, PACKETS, PACE_S, config.octets)
        rows.append((start, end, own, one_way, lost()))
    return rows


def _compare_streams(rows: list[Any]) -> Claim:
    share = 1 - 0.01 / (3 * len(rows))
    both_ways = interval(PACKETS, 1 - (1 - DROP) ** 2, share)
    one_way = interval(PACKETS, DROP, share)
    wrong = []
    for start, end, own, (_, lost, sent), lost_pings in rows:
        is_right = both_ways[0] <= own.lost <= both_ways[1] and own.sent == PACKETS
        is_right &= both_ways[0] <= lost_pings <= both_ways[1]
        is_right &= sent == PACKETS and one_way[0] <= lost <= one_way[1]
        if not is_right:
            wrong.append(f"{start} to {end}: {own.lost}, ping {lost_pings}, iperf3 {lost} lost")
    true = 14 / 15 * JITTER_MS, 2 / 3 * JITTER_MS
    means = fmean(row[2].jitter_ms for row in rows), fmean(row[3][0] for row in rows)
    ours, theirs = (mean / expected for mean, expected in zip(means, true, strict=True))
    if abs(ours - 1) > 0.1 or abs(ours / theirs - 1) > 0.15:
        wrong.append(f"jitter {ours:.3f} of the configured, iperf3 {theirs:.3f}")
    lost = [sum(r[2].lost for r in rows), sum(r[4] for r in rows), sum(r[3][1] for r in rows)]
    text = (
        f"jitter on {len(rows)} pairs {means[0]:.2f} ms ({true[0]:.2f} configured), iperf3 one way "
        f"{means[1]:.2f} ({true[1]:.2f}); lost of {len(rows) * PACKETS:,}: {lost[0]}, ping "
        f"{lost[1]}, iperf3 one way {lost[2]}"
    )
    return text, wrong


def interval(count: int, chance: float, share: float = 0.99) -> tuple[int, int]:
    """The least and the most that a binomial count is, with so much of its weight between."""
    weights = [comb(count, k) * chance**k * (1 - chance) ** (count - k) for k in range(count + 1)]
    tail, low, high = (1 - share) / 2, 0, count
    under = weights[0]
    while under < tail:
        low += 1
        under += weights[low]
    over = weights[count]
    while over < tail:
        high -= 1
        over += weights[high]
    return low, high


def transfers(lab: Laboratory) -> Claim:
    """Each vantage point that loses nothing, from one instance after the other's."""
    if shutil.which("curl") is None:
        return "throughput is not compared: there is no curl", []
    ends, worst, wrong, pairs = lab.plan.of_kind("instance"), 0.0, [], 0
    for number, vantage in enumerate(lab.plan.of_kind("vantage")):
        end = ends[number % len(ends)].name
        if lab.truth.loss(vantage.name, end):
            continue
        pairs += 1
        own, beside = _rates(lab, vantage.name, end)
        apart = abs(own / beside - 1)
        worst = max(worst, apart)
        if apart > NEAR:
            wrong.append(f"{vantage.name} from {end}: {own:.0f} octets/s, curl {beside:.0f}")
    return f"throughput at most {worst:.1%} from curl's on {pairs} pairs without loss", wrong


def _rates(lab: Laboratory, start: str, end: str) -> tuple[float, float]:
    """The fastest of some transfers each: other work on the machine only ever slows them down."""
    from tests.testbed.namespaces.reference import curl  # noqa: PLC0415

    home, path = lab.plan.home(end), f"/octets/{OCTETS}"
    own, beside = 0.0, 0.0
    for number in range(TRIES):
        target, config = Target(home, 80, 0, path), throughput.Config(octets=OCTETS)
        found = lab.run_inside(start, lambda t=target, c=config: throughput.run(t, c, CLOCK))
        own = max(own, found.bytes_per_s or 0.0)
        beside = max(beside, lab.run_inside(start, lambda: curl(home, path)) or 0.0)
        if number and abs(own / beside - 1) <= NEAR:
            break
    return own, beside


def hops(lab: Laboratory) -> Claim:
    """Every protocol and family, between all pairs."""

    def trace(start: str) -> list[str]:
        return [w for end in _instances(lab) for w in _wrong_hops(lab, start, end)]

    wrong = _everywhere(lab, trace)
    pairs = len(_pairs(lab)) * len(PROTOCOLS) * len(lab.plan.families)
    return f"every hop is right in {pairs - len(wrong)} of {pairs} traceroutes", wrong


def _wrong_hops(lab: Laboratory, start: str, end: str) -> Iterator[str]:
    for family in lab.plan.families:
        true = _true_routes(lab, start, end, family)
        for protocol in PROTOCOLS:
            path = _trace(lab, end, family, protocol=protocol, window=8)
            own = [hop[0] if len(hop) == 1 else hop or None for hop in path.hops]
            if not path.reached or own not in true:
                yield f"{start} to {end}, {protocol} over IPv{family}: {own}, in truth {true}"


def flows(lab: Laboratory) -> Claim:
    """A flow's packets all take one way, and flows do not all take the same."""
    wide = [p for p in _pairs(lab) if len(lab.truth.paths(*p)) > 1][:FLOW_PAIRS]
    wrong, spread = [], 0
    for start, end in wide:
        seen = set()
        for flow in range(FLOWS):
            options = {
                "attempts": FLOW_TRIES,
                "flow": flow,
                "window": 8,
                "protocol": "tcp" if flow % 2 else "udp",
            }
            path = lab.run_inside(start, lambda e=end, o=options: _trace(lab, e, None, **o))
            seen.add(path.hops)
            if any(len(hop) > 1 for hop in path.hops):
                wrong.append(f"{start} to {end}, flow {flow}: {path.hops}")
        spread += len(seen) > 1
    count = len(wide) * FLOWS
    words = f"{count - len(wrong)} of {count} flows keep their way over {len(wide)} balanced pairs"
    return f"{words}, flows of {spread} of which differ", wrong


def multipath_routes(lab: Laboratory) -> Claim:
    """Multipath detection finds no router that is not there, and misses no more than its rule."""

    def search(start: str) -> list[tuple[int, int, str]]:
        return [_search_routes(lab, start, end) for end in _instances(lab)]

    found = _everywhere(lab, search)
    counts = [len(lab.truth.paths(*pair)) for pair in _pairs(lab)]
    whole, incomplete = (sum(row[at] for row in found) for at in (0, 1))
    wrong = [text for _, _, text in found if text]
    chance = chance_of(incomplete, whole, MDA_RISK)
    if chance < UNEXPLAINED:
        wrong.append(f"{incomplete} of {whole} balancers lack a next hop, chance {chance:.2g}")
    return (
        f"1 to {max(counts)} ways by MDA on {len(counts)} pairs: {incomplete} of {whole} balancers "
        f"lack a next hop (chance {chance:.2g} by the stopping rule)"
    ), wrong


def _search_routes(lab: Laboratory, start: str, end: str) -> tuple[int, int, str]:
    """Balancers, those that are incomplete, and what was seen that is not there."""
    path = _trace(lab, end, None, mda=True, risk=MDA_RISK)
    true = _true_routes(lab, start, end, lab.plan.families[0])
    wanted = {(ttl, hop) for way in true for ttl, hop in enumerate(way, 1) if hop}
    own = {(r.ttl, r.address) for r in path.replies if r.address}
    balancers, incomplete = count_incomplete(true, own)
    is_open = all(hop for way in true for hop in way)
    has_links = not is_open or own != wanted or count_paths(path.links) == len(true)
    if own <= wanted and has_links:
        return balancers, incomplete, ""
    return balancers, incomplete, f"{start} to {end}: not there {own - wanted}, or wrong links"


def isps(lab: Laboratory) -> Claim:
    """Traceroutes from every instance to every vantage point, and the owners of the hops."""
    return compared(lab, "ISPs", measure_routes(lab, 0))


def failure(lab: Laboratory) -> Claim:
    """The ISP with the most ends cut off by its failure; other ends are rerouted."""
    asn = max(
        sorted({n.asn for n in lab.plan.nodes if 0 < n.asn - lab.plan.cloud_asn < 10}),
        key=lambda a: len(_cut_off(lab, a)),
    )
    before = measure_routes(lab, 0)
    lab.fail(lab.plan.links_of_as(asn))
    try:
        after = measure_routes(lab, 1)
        words, wrong = compared(lab, f"ISPs without AS{asn}", after)
        true = _unreached(lab)
    finally:
        lab.restore()
    routes = diversity.compare_routes(before, after)
    lost = {(row["region"], row["end"]) for row in routes["lost"]}
    if lost != true:
        wrong.append(f"lost {sorted(lost)}, in truth {sorted(true)}")
    return f"{words}; lost are {len(lost)} of {len(true)} pairs of region and end", wrong


def _cut_off(lab: Laboratory, asn: int) -> set[Pair]:
    from testbed.namespaces.truth import Truth  # noqa: PLC0415

    return _unreached_in(lab, Truth.of(lab.plan, lab.plan.links_of_as(asn)))


def _unreached(lab: Laboratory) -> set[Pair]:
    return _unreached_in(lab, lab.truth)


def _unreached_in(lab: Laboratory, truth: Any) -> set[Pair]:
    """Regions without an instance that an end reaches."""
    ends = lab.plan.of_kind("instance")
    return {
        (region, vantage.name)
        for region in {n.region for n in ends}
        for vantage in lab.plan.of_kind("vantage")
        if not any(truth.reachable(n.name, vantage.name) for n in ends if n.region == region)
    }


def compared(lab: Laboratory, what: str, routes: Any) -> Claim:
    """ISPs of each zone, of routes, beside those of the truth."""
    found: dict[Pair, set[int]] = {}
    for row in routes.to_pylist():
        if row["isp"]:
            found.setdefault((row["region"], row["zone"]), set()).add(row["isp"])
    true = {zone: own for zone, own in isps_by_zone(lab.truth).items() if own}
    wrong = [
        f"{what} of {z}: {found.get(z)}, in truth {true.get(z)}"
        for z in sorted({*true, *found})
        if found.get(z) != true.get(z)
    ]
    return f"{what} equal to the truth in {len(true) - len(wrong)} of {len(true)} zones", wrong


def measure_routes(lab: Laboratory, number: int) -> Any:
    """The ISP of each path from the cloud, as a campaign would report it."""

    def trace(start: str) -> list[Any]:
        cloud, rows = lab.plan.by_name[start], []
        for end in lab.plan.of_kind("vantage"):
            path = _trace(lab, end.name, None, window=8, silent_hops=3)
            place = {
                "round": number,
                "vantage": start,
                "target": end.name,
                "provider": "lab",
                "region": cloud.region,
                "zone": cloud.zone,
                "direction": "from",
            }
            rows += rows_of_result(path.as_json(), place)[1]
        return rows

    rows = _everywhere(lab, trace, _instances(lab))
    return find_isps(table_of("paths", rows), _build_address_table(lab))


def _build_address_table(lab: Laboratory) -> Addresses:
    table = OriginTable.build(read_origins(origin_lines(lab.plan).encode()))
    ranges = [(ip_network(prefix), region) for prefix, region in region_prefixes(lab.plan)]

    def clouds(addresses: Any) -> list[Pair]:
        found = (next((r for n, r in ranges if ip_address(a) in n), "") for a in addresses)
        return [("lab", region) if region else ("", "") for region in found]

    return Addresses(
        table.find_many,
        clouds,
        exchange_prefixes(lab.plan),
        {"lab": frozenset({lab.plan.cloud_asn})},
    )


def _trace(lab: Laboratory, end: str, family: Family | None, **options: Any) -> Path:
    port = 80 if options.get("protocol") == "tcp" else 0
    own = {"timeout_s": 0.3, "interval_s": 0.001, "silent_hops": 4, **options}
    target = Target(lab.plan.home(end, family), port)
    return traceroute.run(target, traceroute.Config(**own), CLOCK)


def _true_routes(lab: Laboratory, start: str, end: str, family: Family) -> list[list[str | None]]:
    return [lab.truth.hops(start, way, family) for way in lab.truth.paths(start, end)]


def _instances(lab: Laboratory) -> list[str]:
    return [node.name for node in lab.plan.of_kind("instance")]


def _pairs(lab: Laboratory) -> list[Pair]:
    return [(v.name, end) for v in lab.plan.of_kind("vantage") for end in _instances(lab)]


def _clean_route(lab: Laboratory) -> tuple[str, str, int]:
    """A pair that loses nothing, and a link on its way that has a delay."""
    for start, end in _pairs(lab):
        if not lab.truth.loss(start, end):
            links = [n for n in lab.truth.paths(start, end)[0] if not lab.plan.links[n].line.plain]
            if links:
                return start, end, links[0]
    raise ValueError("every way of this plan loses packets")


def _everywhere(
    lab: Laboratory, work: Callable[[str], list[Any]], starts: list[str] | None = None
) -> list[Any]:
    """Results at each source, some of them at once, in the order of sources."""
    names = starts or [node.name for node in lab.plan.of_kind("vantage")]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = pool.map(lambda s: lab.run_inside(s, lambda: work(s)), names)
        return [one for own in results for one in own]
