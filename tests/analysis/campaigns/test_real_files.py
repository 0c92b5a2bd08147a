"""Real traceroutes to two clouds, counted a second time by plain loops over the raw JSON."""

import gzip
import json
from collections import Counter
from ipaddress import ip_address, ip_network
from socket import inet_aton

import pytest

from analysis.campaigns.importers.ripe_atlas import AtlasFiles
from analysis.campaigns.routes import diversity
from analysis.campaigns.routes.address_owners import Addresses
from analysis.campaigns.routes.downstream_isp import find_isps
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from cartography.placement.cloud_table import PrefixTable
from cartography.ranges import read_ranges
from core.providers import PROVIDER_BY_ID
from tests.shared import shared_file

CASES = [
    (
        "traceroute/ripe-atlas-trace_49857308.json.gz",
        "google",
        "ip-ranges/google-cloud-2024-06.json",
        "us-central1",
        330,
    ),
    (
        "traceroute/ripe-atlas-trace_49857316.json.gz",
        "aws",
        "ip-ranges/aws-ip-ranges-2024-06.json.gz",
        "ap-southeast-2",
        111,
    ),
]


def content(path):
    data = shared_file(path).read_bytes()
    return gzip.decompress(data) if path.endswith(".gz") else data


@pytest.fixture(scope="module")
def route_views():
    """The origin table as the file's own lines: prefix by length and number."""
    text = content("ip-asn/ipasn_20140513.dat.gz").decode()
    table = [{} for _ in range(33)]
    for line in text.splitlines():
        if not line.startswith(";"):
            prefix, origin = line.split("\t")
            first, length = prefix.split("/")
            shift = 32 - int(length)
            table[int(length)].setdefault(int.from_bytes(inet_aton(first)) >> shift, set()).add(
                int(origin)
            )
    return table


def origins_of(table, address):
    number = int(ip_address(address))
    for length in range(32, -1, -1):
        found = table[length].get(number >> (32 - length))
        if found:
            return found
    return set()


def published(provider, data):
    rows = json.loads(data)["prefixes"]
    name = "ip_prefix" if provider == "aws" else "ipv4Prefix"
    return [ip_network(r[name]) for r in rows if name in r]


class Recount:
    """The rules once more, from the raw results, by plain loops."""

    def __init__(self, provider, networks, table):
        self.cloud_ases, self.networks, self.table = PROVIDER_BY_ID[provider].asns, networks, table
        self.seen = {}

    def judge(self, address):
        if address not in self.seen:
            self.seen[address] = self._judge(ip_address(address), address)
        return self.seen[address]

    def _judge(self, number, address):
        ases = origins_of(self.table, address) if number.version == 4 else set()
        if any(number in n for n in self.networks) or ases & self.cloud_ases:
            return "own", None
        if not number.is_global:
            return "private", None
        kind = {0: "unannounced", 1: "as"}.get(len(ases), "several")
        return kind, frozenset(ases)

    def hop(self, replies):
        """What a hop is by its replies; those that came late answer an earlier one."""
        kinds = {self.judge(x["from"]) for x in replies if "from" in x and "late" not in x}
        strong = {k for k in kinds if k[0] in ("own", "as", "several")}
        if len(strong) > 1:
            return "disagreeing", None
        weak = {k for k, _ in kinds}
        name = next((w for w in ("unannounced", "private") if w in weak), "silent")
        return strong.pop() if strong else (name, None)

    def path(self, result):
        """(ISP, whether it is doubtful) or (None, reason), from the target backwards."""
        hops = {h["hop"]: self.hop(h["result"]) for h in result["result"]}
        numbers = sorted(hops, reverse=True)
        steps = [hops.get(n, ("silent", None)) for n in range(numbers[0], numbers[-1] - 1, -1)]
        own = [i for i, (kind, _) in enumerate(steps) if kind == "own"]
        if not own:
            return None, "cloud_not_reached"
        # The run of the cloud's own hops ends at an AS or a contradiction outside of it.
        edge = next(
            (i for i in range(own[0], len(steps)) if steps[i][0] in ("as", "disagreeing")),
            len(steps),
        )
        last = max(i for i in own if i < edge)
        return self.outside([kind for kind, _ in steps[last + 1 : edge]], steps, (last, edge))

    def outside(self, gap, steps, span):
        last, edge = span
        several = [ases for kind, ases in steps[last + 1 : edge] if kind == "several"]
        if edge == len(steps):
            order = ("several", "unannounced", "private", "silent")
            found = next((k for k in order if k in gap), "never_left")
            return None, "several_origins" if found == "several" else found
        kind, ases = steps[edge]
        if kind == "disagreeing":
            return None, kind
        if several and not ases & several[0]:
            return None, "several_origins"
        return min(ases), "silent" in gap or "unannounced" in gap


@pytest.mark.parametrize(("traces", "provider", "ranges", "region", "n"), CASES)
def test_isp_diversity_equals_an_independent_count(
    route_views, traces, provider, ranges, region, n
):
    origins = OriginTable.build(read_origins(content("ip-asn/ipasn_20140513.dat.gz")))
    places = PrefixTable.build([read_ranges(provider, content(ranges))])
    book = Addresses(
        origins.find_many,
        lambda own: [(p.provider or "", p.region or "") for p in places.place_many(own)],
    )
    files = AtlasFiles([shared_file(traces)])
    routes = find_isps([*files.traceroutes()][0], book)
    raw = json.loads(content(traces))
    again = Recount(provider, published(provider, content(ranges)), route_views)
    expected = [again.path(result) for result in raw]
    got = [
        (r["isp"], r["doubtful"] if r["isp"] is not None else r["reason"])
        for r in routes.to_pylist()
    ]
    assert len(got) == n
    assert got == expected
    (row,) = diversity.diversity_table(routes, diversity.REGION)
    certain = Counter(isp for isp, doubtful in expected if isp is not None and not doubtful)
    assert (row["region"], row["isps"], row["certain"]) == (region, len(certain), certain.total())
    assert row["largest_share"] == pytest.approx(max(certain.values()) / certain.total())
    squares = sum((c / certain.total()) ** 2 for c in certain.values())
    assert row["effective"] == pytest.approx(1 / squares)
    unknown = Counter(reason for isp, reason in expected if isp is None)
    by_reason = diversity.route_totals(routes)["by_reason"]
    assert {k: v for k, v in by_reason.items() if v} == dict(unknown)
    assert row["certain"] + row["doubtful"] + row["unknown"] == n
