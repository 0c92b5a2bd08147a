"""A million traceroutes to the ISP table: from the lake's Parquet, and from RIPE Atlas JSON.

Prints CPU seconds and peak memory of each; traceroutes of 15 hops with 3 replies each are made
first, by another process, over 200,000 routers of 30,000 ASes.
"""

import json
from collections.abc import Sequence
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.campaigns.importers.ripe_atlas import AtlasFiles
from analysis.campaigns.routes import diversity
from analysis.campaigns.routes.address_owners import Addresses
from analysis.campaigns.routes.downstream_isp import find_isps
from benchmarks.probes.inputs import Used, ask, open_inputs
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from lake.campaigns import HOP, fill_table

ROUTERS, HOPS, REPLIES, BATCH = 200_000, 15, 3, 50_000
# Routers are in /20s of 20.0.0.0/6; each /20 is a separate AS, the cloud's are the last.
FIRST, STEP, AS_BITS = 20 << 24, 331, 12
CLOUD_FROM = FIRST + 195_000 * STEP


def router_names() -> list[str]:
    """Addresses of all routers; the last 5,000 are the cloud's."""
    return [str(ip_address(FIRST + i * STEP)) for i in range(ROUTERS)]


def origins() -> OriginTable:
    """The table that announces them."""
    last = FIRST + ROUTERS * STEP
    lines = [
        f"{ip_address(first)}/{32 - AS_BITS}\t{64_500 if first >= CLOUD_FROM else 100_000 + i}"
        for i, first in enumerate(range(FIRST, last, 1 << AS_BITS))
    ]
    return OriginTable.build(read_origins("\n".join(lines).encode()))


def clouds(addresses: Sequence[str]) -> list[tuple[str, str]]:
    """Published ranges: the last routers, in ten regions."""
    numbers = [int(ip_address(a)) for a in addresses]
    return [("acme", f"region-{n % 10}") if n >= CLOUD_FROM else ("", "") for n in numbers]


def batch_of(count: int, chance: np.random.Generator) -> np.ndarray:
    """Router numbers of each hop, -1 for silence: eleven outside, four of the cloud."""
    outside = chance.integers(0, 195_000, (count, HOPS - 4))
    inside = chance.integers(195_000, ROUTERS, (count, 4))
    routers = np.concatenate([outside, inside], axis=1)
    routers[:, :-1][chance.random((count, HOPS - 1)) < 0.1] = -1
    return routers


def table_of(routers: np.ndarray, names: pa.Array) -> pa.Table:
    """The same as the lake's table."""
    count = len(routers)
    codes = np.repeat(routers, REPLIES, axis=1).ravel()
    numbers = pa.array(codes.astype(np.int32), mask=codes < 0)
    address = pa.DictionaryArray.from_arrays(numbers, names)
    ttls = np.tile(np.repeat(np.arange(1, HOPS + 1), REPLIES), count).astype(np.uint8)
    rtts = pa.array(np.full(len(codes), 12.5, np.float32))
    flat = pa.StructArray.from_arrays([pa.array(ttls), address, rtts], fields=list(HOP))
    offsets = np.arange(count + 1, dtype=np.int32) * HOPS * REPLIES
    destination = names.take(pa.array(routers[:, -1]))
    vantage = pa.array([f"vantage-{i % 10_000}" for i in range(count)])
    rows = pa.table({"vantage": vantage, "target": destination, "destination": destination})
    extra = {
        "hops": pa.ListArray.from_arrays(pa.array(offsets), flat),
        "reached": pa.repeat(pa.scalar(True), count),
        "probe": pa.repeat(pa.scalar("traceroute"), count),
        "at": pa.nulls(count, pa.timestamp("us", tz="UTC")),
    }
    return fill_table("paths", rows, extra)


def write_json(path: Path, routers: np.ndarray, names: list[str]) -> None:
    """The same as RIPE Atlas would give it, one result a line."""
    with path.open("a") as stream:
        for number, row in enumerate(routers.tolist()):
            result = [
                {
                    "hop": hop,
                    "result": [
                        {"from": names[r], "ttl": 250, "size": 28, "rtt": 12.5}
                        if r >= 0
                        else {"x": "*"}
                    ]
                    * REPLIES,
                }
                for hop, r in enumerate(row, 1)
            ]
            head = {
                "fw": 5080,
                "prb_id": number % 10_000,
                "timestamp": 1_675_968_283,
                "type": "traceroute",
                "af": 4,
                "dst_addr": names[row[-1]],
                "proto": "ICMP",
                "paris_id": 1,
            }
            stream.write(json.dumps({**head, "result": result}, separators=(",", ":")) + "\n")


def write_traceroutes(folder: Path, count: int, as_json: bool) -> None:
    """All traceroutes, batch by batch."""
    chance, names = np.random.default_rng(2), router_names()
    column = pa.array(names)
    for number, first in enumerate(range(0, count, BATCH)):
        routers = batch_of(min(BATCH, count - first), chance)
        if as_json:
            write_json(folder / "atlas.json", routers, names)
        else:
            pq.write_table(table_of(routers, column), folder / f"p{number:05}.parquet")


def main() -> None:
    """Make what is not there, find the ISPs, print the figures."""
    parser = ask(__doc__, {"count": 1_000_000})
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    pattern = "*.json" if given.json else "*.parquet"
    maker = partial(write_traceroutes, count=given.count, as_json=given.json)
    with open_inputs(given, "benchmarks.probes.isps", pattern, maker) as folder:
        if folder is None:
            return
        table = origins()
        used = Used()
        addresses = Addresses(table.find_many, clouds, cloud_ases={"acme": frozenset({64_500})})
        if given.json:
            tables = AtlasFiles([folder / "atlas.json"]).traceroutes()
            routes = pa.concat_tables([find_isps(t, addresses) for t in tables])
        else:
            routes = find_isps(sorted(folder.glob(pattern)), addresses)
        rows = diversity.diversity_table(routes, diversity.REGION)
        print(
            f"{len(routes):,} traceroutes, {len(rows)} regions, first with {rows[0]['isps']:,} "
            f"ISPs: {used}"
        )


if __name__ == "__main__":
    main()
