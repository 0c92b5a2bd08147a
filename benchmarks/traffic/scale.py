"""Proves what an import costs: rows per CPU second and memory on a made-up conn log of any length.

python benchmarks/traffic/scale.py [--rows 5000000] [--clients 60000] [--servers 300000]
"""

import argparse
import os
import random
import resource
import tempfile
import time
from datetime import date
from pathlib import Path

from analysis.traffic.report import compute_traffic
from cartography.placement.cloud_table import PrefixTable
from cartography.ranges.range_file import RangeEntry, RangeFile
from cartography.traffic.address_cache import LocalNetworks
from cartography.traffic.anonymization import Pseudonymizer
from cartography.traffic.log_import import FlowImport
from cartography.traffic.table_by_date import TablesByDate
from core.providers import PROVIDERS
from lake.traffic import FlowWriter

FIELDS = [
    "ts",
    "uid",
    "id.orig_h",
    "id.orig_p",
    "id.resp_h",
    "id.resp_p",
    "proto",
    "service",
    "duration",
    "orig_bytes",
    "resp_bytes",
    "conn_state",
    "local_orig",
    "local_resp",
    "missed_bytes",
    "history",
    "orig_pkts",
    "orig_ip_bytes",
    "resp_pkts",
    "resp_ip_bytes",
    "tunnel_parents",
]
SPOKEN = (
    ("tcp", "ssl", 443),
    ("tcp", "http", 80),
    ("udp", "dns", 53),
    ("tcp", "-", 22),
    ("udp", "quic", 443),
    ("icmp", "-", 0),
)
_BATCH = 20_000


def write_log(path: Path, n_rows: int, n_clients: int, n_servers: int) -> None:
    """A log in which few clients and servers have most of the connections."""
    generator = random.Random(2012)
    clients = [f"10.{_byte(generator)}.{_byte(generator)}.{i % 256}" for i in range(n_clients)]
    servers = [_server(generator) for _ in range(n_servers)]
    with path.open("w") as file:
        file.write("#separator \\x09\n#unset_field\t-\n#path\tconn\n#fields\t")
        file.write("\t".join(FIELDS) + "\n")
        for first in range(0, n_rows, _BATCH):
            rows = range(first, min(n_rows, first + _BATCH))
            file.writelines(_row(generator, i, clients, servers) for i in rows)


def _byte(generator: random.Random) -> int:
    return generator.randrange(256)


def _server(generator: random.Random) -> str:
    head = generator.choice((3, 13, 20, 34, 40, 52, 54, 104, 151, 198))
    return f"{head}.{_byte(generator)}.{_byte(generator)}.{_byte(generator)}"


def _row(generator: random.Random, i: int, clients: list[str], servers: list[str]) -> str:
    draw = generator.random
    transport, service, port = SPOKEN[int(draw() * draw() * len(SPOKEN))]
    client = clients[int(draw() * draw() * len(clients))]
    server = servers[int(draw() * draw() * len(servers))]
    size = int(10 ** (draw() * 5))
    return (
        f"{1719792000 + i * 0.12:.6f}\tC{i:x}{int(draw() * 1e12):x}\t{client}\t"
        f"{1024 + int(draw() * 60000)}\t{server}\t{port}\t{transport}\t{service}\t0.5\t{size}\t"
        f"{size * 9}\tSF\tT\tF\t0\tShADadFf\t{size // 1400 + 4}\t{size + 200}\t"
        f"{size // 1400 + 9}\t{size * 9 + 400}\t-\n"
    )


def generate_table() -> PrefixTable:
    """Every fourth /16 below each first octet rented out by one of the clouds."""
    entries = [
        RangeEntry(f"{head}.{second}.0.0/16", PROVIDERS[second % 3], "VM", f"region-{second % 20}")
        for head in (3, 13, 20, 34, 40, 52, 54, 104, 151, 198)
        for second in range(0, 256, 2)
    ]
    files = [
        RangeFile(p, date(2024, 7, 1), tuple(e for e in entries if e.provider == p))
        for p in PROVIDERS[:3]
    ]
    return PrefixTable.build(files)


def main() -> None:
    """Write a log, import it in a child process, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--clients", type=int, default=60_000)
    parser.add_argument("--servers", type=int, default=300_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "conn.log"
        write_log(log, given.rows, given.clients, given.servers)
        size = log.stat().st_size
        print(
            f"{given.rows:,} rows, {size / 1e6:,.0f} MB, {given.clients:,} clients, "
            f"{given.servers:,} servers"
        )
        if (child := os.fork()) == 0:
            measure(log, Path(folder) / "out", given.rows)
            os._exit(0)
        os.waitpid(child, 0)


def measure(log: Path, out: Path, n_rows: int) -> None:
    """Import and report, each with its CPU seconds; and the most memory of both."""
    calendar = TablesByDate(lambda _day: generate_table(), [], PROVIDERS, LocalNetworks())
    reading = FlowImport(FlowWriter(out), calendar, Pseudonymizer(bytes(32)))
    begin = time.process_time()
    account = reading.read(log)
    reading.writer.close()
    read_s = time.process_time() - begin
    at_import = _peak_mb()
    report = compute_traffic(out)
    report_s = time.process_time() - begin - read_s
    n_lake = sum(own.rows for own in account.clouds.total().values())
    print(
        f"import: {read_s:.1f} CPU s, {n_rows / read_s:,.0f} rows/s, peak {at_import} MB "
        f"({n_lake:,} rows with a cloud)"
    )
    print(f"report: {report_s:.1f} CPU s, peak {_peak_mb()} MB, checks {report.checks}", flush=True)


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
