"""Made-up captures, counted again in plain Python; and the checks, which must find slips."""

import random
from collections import Counter, defaultdict
from dataclasses import replace

from analysis.traffic.checks import check_traffic
from analysis.traffic.report import compute_traffic
from tests.cartography.traffic.logs import (
    AZURE,
    GOOGLE,
    OREGON,
    STRANGER,
    VIRGINIA,
    conn,
    header,
    read,
    row,
)

SERVERS = {VIRGINIA: "aws", OREGON: "aws", AZURE: "azure", GOOGLE: "google", STRANGER: None}
# Service, port, protocol in the report.
SPOKEN = [
    ("http", "80", "http"),
    ("-", "80", "http"),
    ("ssl", "443", "https"),
    ("-", "443", "https"),
    ("ssl", "8443", "https"),
    ("http", "8080", "http"),
    ("ssh", "22", "other-tcp"),
    ("-", "22", "other-tcp"),
    ("ssl", "993", "other-tcp"),
    ("smtp,ssl", "25", "other-tcp"),
]


def make(seed, count):
    generator = random.Random(seed)
    flows, logs = [], {"conn": header("conn"), "http": header("http"), "ssl": header("ssl")}
    for i in range(count):
        server = generator.choice(list(SERVERS))
        client = f"10.0.{generator.randrange(4)}.{generator.randrange(60)}"
        service, port, protocol = generator.choice(SPOKEN)
        size, domain = generator.randrange(10**6), f"d{generator.randrange(30)}.example"
        ends = {"uid": f"C{i}", "orig_h": client, "resp_h": server, "resp_p": port}
        logs["conn"] += conn(**ends, service=service, orig_ip_bytes=size, resp_ip_bytes=0)
        if service == "http":
            logs["http"] += row("http", **ends, host=f"www.{domain}")
        elif service == "ssl":
            logs["ssl"] += row("ssl", **ends, server_name=f"www.{domain}")
        named = domain if service in ("http", "ssl") and protocol != "other-tcp" else None
        if SERVERS[server]:
            flows.append((SERVERS[server], protocol, size, client, named))
    return flows, logs


def test_tables_are_what_plain_loops_count(tmp_path):
    for seed in range(3):
        flows, logs = make(seed, 400)
        read(tmp_path, *logs.values(), number=seed)
        report = compute_traffic(tmp_path / f"out{seed}", 1000)
        assert report.checks == []
        n_bytes, n_flows, clients = Counter(), Counter(), defaultdict(set)
        domains = Counter()
        for provider, protocol, size, client, domain in flows:
            n_bytes[provider, protocol] += size
            n_flows[provider, protocol] += 1
            clients[provider].add(client)
            if domain:
                domains[provider, domain] += size
        found = report.tables["traffic-protocols"].rows
        own = {(r[0], r[1]): (r[2], r[6]) for r in found if r[6] and r[0] != "total"}
        assert own == {key: (n_bytes[key], n_flows[key]) for key in n_flows}
        clouds = {r[0]: r[9] for r in report.tables["traffic-clouds"].rows}
        assert {p: clouds[p] for p in clients} == {p: len(own) for p, own in clients.items()}
        listed = {(r[0], r[2]): r[3] for r in report.tables["traffic-domains"].rows}
        assert listed == domains
        order = [r[3] for r in report.tables["traffic-domains"].rows if r[0] == "aws"]
        assert order == sorted(order, reverse=True)


def test_the_checks_find_a_slip_in_every_table(tmp_path):
    _, logs = make(9, 200)
    read(tmp_path, *logs.values())
    tables = compute_traffic(tmp_path / "out0").tables
    slips = {
        "traffic-clouds": ("bytes", 1),
        "traffic-protocols": ("flows", 1),
        "traffic-domains": ("bytes", 10**12),
        "traffic-evidence": ("flows", 100),
        "traffic-directions": ("flows", 1),
        "traffic-regions": ("flows", 1),
    }
    for table_id, (column, more) in slips.items():
        table = tables[table_id]
        at = table.columns.index(column)
        first, *others = table.rows
        changed = (*first[:at], first[at] + more, *first[at + 1 :])
        wrong = tables | {table_id: replace(table, rows=(changed, *others))}
        assert any(c.startswith(f"{table_id}:") for c in check_traffic(wrong)), table_id
