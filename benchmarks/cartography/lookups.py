"""Longest-prefix match beside pytricia and py-radix in one run: rates, sizes, building, agreement.

Run as ``python -m benchmarks.cartography.lookups --data FOLDER --peers ENVIRONMENT``; a figure is
the median of five interleaved runs on one core, in CPU time.
"""

import argparse
import ipaddress
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.cartography import agreement, peers, tables
from cartography.addresses.intervals import Column
from cartography.addresses.matching import AddressMap
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from cartography.placement.cloud_table import PrefixTable

ROOT = Path(__file__).resolve().parents[2]
RUNS = 5
# Addresses of one run: ours is too fast to be timed on as few as a peer is given.
OWN, THEIRS = 2_000_000, 200_000
# Records of the deployment study.
STUDY = 34_000_000


def main() -> None:
    """Everything that was requested, one table after the other."""
    options = read_options()
    peers.use(options.peers)
    data = options.data if options.data and options.data.is_dir() else None
    if data is None:
        print("no real files at hand: made tables of the specification's sizes")
    sources = tables.read_cloud(data), tables.read_routes(data)
    cases = [tables.cloud_case(sources[0])[0], tables.routes_case(sources[1])[0]]
    if not options.only_agreement:
        show_building(*sources)
        for case in cases:
            show_rates(case, 4)
        if cases[0].prefixes[6]:
            show_rates(cases[0], 6)
        show_study(cases)
    for case in cases:
        agreement.check(case, options.addresses)


def read_options() -> argparse.Namespace:
    """Where files and peers are, and how much is compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = ROOT.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=default, help="ip-ranges/ and ip-asn/")
    parser.add_argument("--peers", help="an environment that has pytricia")
    parser.add_argument("--addresses", type=int, default=1_000_000, help="random ones to compare")
    parser.add_argument("--only-agreement", action="store_true")
    return parser.parse_args()


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def show_building(cloud: tables.Source, routes: tables.Source) -> None:
    """Bytes to parsed files, parsed files to compiled tables with their indexes."""
    raw = routes.files[0][1]
    files, parsed = tables.parse_cloud(cloud), read_origins(raw)
    steps: dict[str, Callable[[], Any]] = {
        "read the cloud files": lambda: tables.parse_cloud(cloud),
        "compile the cloud table": lambda: PrefixTable.build(files).addresses.buckets,
        "read the route file": lambda: read_origins(raw),
        "compile the route table": lambda: OriginTable.build(parsed).addresses.buckets,
    }
    found = {name: median(cpu_s(step) for _ in range(3)) for name, step in steps.items()}
    for name, seconds in found.items():
        print(f"{name:28} {seconds:6.3f} CPU s")
    compiling = sum(s for name, s in found.items() if name.startswith("compile"))
    print(f"both compiled {compiling:.3f} CPU s; with reading {sum(found.values()):.3f} CPU s")
    show_opening(PrefixTable.build(files))


def show_opening(table: PrefixTable) -> None:
    """A written table opened, and single lookups in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cloud.map"
        table.write(path)
        print(f"opening the cloud table     {cpu_s(lambda: PrefixTable.open(path)):6.3f} CPU s")
        opened = PrefixTable.open(path)
        spent = cpu_s(lambda: [opened.addresses.find("52.31.0.1") for _ in range(100_000)])
        print(f"a single lookup              {spent * 10:6.2f} us")


def draw(case: tables.Case, family: int, count: int, share: float) -> list[int]:
    """Addresses, a share of them within random prefixes and the others anywhere."""
    generator = np.random.default_rng(2013)
    bits = 32 if family == 4 else 128
    own = case.prefixes[family]
    found = []
    for pick, chance in zip(
        generator.integers(0, len(own), count), generator.random(count), strict=True
    ):
        number = int.from_bytes(generator.bytes(bits // 8))
        if chance < share:
            first, _, length = own[pick][0].partition("/")
            mask = (1 << (bits - int(length))) - 1
            number = int(ipaddress.ip_address(first)) | (number & mask)
        found.append(number)
    return found


def show_rates(case: tables.Case, family: int) -> None:
    """Lookups per second and core, ours beside the peers', for both mixes."""
    loaded = peers.load_all(case.prefixes[family], family)
    size = f"{len(case.prefixes[family]):,} IPv{family} prefixes"
    print(f"\n{case.name}: {size}, {case.addresses.nbytes / 1e6:.1f} MB with indexes")
    for mix, share in (("80 % within prefixes", 0.8), ("anywhere", 0.0)):
        few = draw(case, family, THEIRS, share)
        runs = workloads(case.addresses, family, few, loaded)
        rates = measure(runs)
        print(f"  {mix}, millions per second")
        for label, rate in rates.items():
            kind = label.split(" from ")[1]
            base = rates.get(f"pytricia from {kind}")
            ratio = f"{rate / base:8.1f} times pytricia" if base and "own" in label else ""
            print(f"    {label:26} {rate / 1e6:8.2f}{ratio}")


def workloads(
    addresses: AddressMap, family: int, few: list[int], loaded: list[peers.Peer]
) -> dict[str, tuple[int, Callable[[], object]]]:
    """(addresses, work) by label; ours on the same addresses, repeated."""
    kind = ipaddress.IPv4Address if family == 4 else ipaddress.IPv6Address
    texts = [str(kind(n)) for n in few]
    packed = [n.to_bytes(4 if family == 4 else 16) for n in few]
    many = OWN // len(few)
    column = pa.chunked_array([pa.array(texts)] * many).combine_chunks()
    numbers = Column.of(family, few * many)
    by_number = addresses.match_ipv4 if family == 4 else addresses.match_ipv6
    halves = (numbers.low,) if numbers.high is None else (numbers.high, numbers.low)
    runs: dict[str, tuple[int, Callable[[], object]]] = {
        "own from text": (len(numbers), lambda: addresses.match_text(column)),
        "own from numbers": (len(numbers), lambda: by_number(*halves)),
    }
    for peer in loaded:
        keys = packed if peer.packs else few
        runs[f"{peer.name} from text"] = (len(few), _each(peer.by_text, texts))
        runs[f"{peer.name} from numbers"] = (len(few), _each(peer.by_number, keys))
    return runs


def _each(find: peers.Find, keys: list[Any]) -> Callable[[], object]:
    return lambda: [find(key) for key in keys]


def measure(runs: dict[str, tuple[int, Callable[[], object]]]) -> dict[str, float]:
    """Rates, the runs interleaved; the first of each is not counted."""
    spent: dict[str, list[float]] = {label: [] for label in runs}
    for turn in range(RUNS + 1):
        for label, (_, work) in runs.items():
            seconds = cpu_s(work)
            if turn:
                spent[label].append(seconds)
    return {label: count / median(spent[label]) for label, (count, _) in runs.items()}


def show_study(cases: list[tables.Case]) -> None:
    """As many addresses as the study has records, from text, against both tables."""
    texts = [str(ipaddress.IPv4Address(n)) for n in draw(cases[0], 4, THEIRS, 0.8)]
    column = pa.chunked_array([pa.array(texts)] * 10).combine_chunks()
    turns = STUDY // len(column)

    def work() -> None:
        for _ in range(turns):
            for case in cases:
                case.addresses.match_text(column)

    print(f"\n{STUDY:,} addresses from text against both tables: {cpu_s(work):.2f} CPU s")


if __name__ == "__main__":
    main()
