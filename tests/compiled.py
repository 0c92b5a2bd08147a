"""Compiles once what all tests, and the sites that they start, would each compile for themselves.

What was compiled is kept beside its source, so a second ``python -m tests.compiled`` only loads it.
"""

import sys
from multiprocessing import Process

import numpy as np
import pyarrow as pa

from analysis.campaigns.tables import tables
from analysis.campaigns.tables.level_shifts import MIN_ROUNDS, find_shifts
from analysis.optimization import warm_up
from cartography.addresses import kernels
from cartography.placement.cloud_table import PrefixTable
from crawlers.compiled.loading import load_step
from lake.campaigns import table_of
from simulator.packets.networks import fat_tree
from simulator.packets.settings import PortSettings, Run, Transport
from simulator.packets.simulation import simulate_network
from simulator.packets.traffic import permutation
from tests.cartography.ranges.files import read_sample


def main() -> None:
    """The choice of regions, tables of campaigns, columns of addresses, bulk resolver, packets."""
    packets = Process(target=simulate_packets)
    packets.start()
    warm_up()
    build_tables()
    match_addresses()
    load_step(lambda: None)
    packets.join()
    sys.exit(packets.exitcode)


def build_tables() -> None:
    """All tables of two vantage points and two regions over two rounds."""
    rows = [
        {
            "round": number,
            "vantage": vantage,
            "target": region,
            "provider": "aws",
            "region": region,
            "zone": f"{region}a",
            "at": 0,
            "probe": "tcp-ping",
            "status": "OK",
            "sent": 2,
            "values": [1.0, 2.0 + number],
        }
        for number in range(2)
        for vantage in ("one", "two")
        for region in ("east", "west")
    ]
    tables.build_tables(table_of("samples", rows))
    path = {"vantage": "one", "target": "east", "at": 0, "hops": [{"ttl": 1, "address": "a"}]}
    tables.build_path_runs(table_of("paths", [path, path]))
    find_shifts(np.arange(float(MIN_ROUNDS)))


def match_addresses() -> None:
    """A column of both families; a short one alone would be matched without compiled loops."""
    assert kernels
    addresses = PrefixTable.build([read_sample("aws-sample.json")]).addresses
    addresses.match_text(pa.array(["192.0.2.1", "2001:db8::1", None, ""]))


def simulate_packets() -> None:
    """One network serves for all: settings are data of the compiled loop."""
    simulate_network(fat_tree(2), permutation(2, 1000), Transport(), PortSettings(), Run())


if __name__ == "__main__":
    main()
