"""Compiles once what all tests, and the sites that they start, would each compile for themselves.

What was compiled is kept beside its source, so a second ``python -m tests.compiled`` only loads it.
"""

import json
import tempfile
from pathlib import Path

import pyarrow as pa

from analysis.campaigns.importers.ripe_atlas import AtlasFiles
from analysis.optimization import warm_up
from cartography.placement.cloud_table import PrefixTable
from tests.cartography.ranges.files import read_sample


def main() -> None:
    """The choice of regions, results of RIPE Atlas, and columns of addresses."""
    warm_up()
    read_results()
    match_addresses()


def read_results() -> None:
    """A traceroute and a ping."""
    reply = {"from": "192.0.2.1", "rtt": 1.5}
    base = {"prb_id": 1, "timestamp": 900, "dst_addr": "192.0.2.1", "dst_name": "one.example"}
    results = [
        {**base, "type": "traceroute", "result": [{"hop": 1, "result": [reply]}]},
        {**base, "type": "ping", "result": [{"rtt": 1.5}]},
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        path.write_text("\n".join(map(json.dumps, results)))
        for read in (AtlasFiles.traceroutes, AtlasFiles.pings):
            for _ in read(AtlasFiles([path])):
                pass


def match_addresses() -> None:
    """A column of both families."""
    addresses = PrefixTable.build([read_sample("aws-sample.json")]).addresses
    addresses.match_text(pa.array(["192.0.2.1", "2001:db8::1", None, ""]))


if __name__ == "__main__":
    main()
