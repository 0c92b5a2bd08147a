"""Every traffic table counted by hand for a fixed cast."""

import pytest

from analysis.traffic.report import compute_traffic
from analysis.traffic.tables import TRAFFIC_SPECS
from tests.cartography.traffic.logs import (
    ALICE,
    AZURE,
    BOB,
    CLOUDFRONT,
    OREGON,
    STRANGER,
    VIRGINIA,
    conn,
    header,
    read,
    row,
)


def size(orig, resp):
    return {"orig_ip_bytes": orig, "resp_ip_bytes": resp}


CONN = [
    conn("web", ALICE, VIRGINIA, service="http", resp_p=80, **size(100, 900)),
    conn("tls", BOB, OREGON, service="ssl", **size(0, 3000)),
    conn("cdn", BOB, CLOUDFRONT, service="ssl", **size(500, 500)),
    conn("dns", ALICE, AZURE, service="dns", proto="udp", resp_p=53, **size(40, 60)),
    conn("ssh", ALICE, AZURE, service="ssh", resp_p=22, **size(1, 2)),
    conn("mail", ALICE, AZURE, service="ssl", resp_p=993, **size(10, 20)),
    conn("quic", ALICE, AZURE, proto="udp", **size(7, 0)),
    conn("game", ALICE, AZURE, proto="udp", resp_p=3000, **size(5, 0)),
    conn("ping", ALICE, AZURE, proto="icmp", orig_p=8, resp_p=0, **size(84, 84)),
    conn("gre", ALICE, AZURE, proto="unknown_transport", resp_p=0, **size(3, 0)),
    conn("try", ALICE, AZURE, resp_p=80, orig_ip_bytes="-", resp_ip_bytes="-"),
    conn("scan", STRANGER, AZURE, resp_p=80, local_orig="F", **size(50, 50)),
    conn("push", AZURE, ALICE, resp_p=9000, **size(600, 0)),
    conn("else", ALICE, STRANGER, **size(10**6, 0)),
]
ENDS = {"orig_h": ALICE, "resp_h": VIRGINIA}
HTTP = [
    row("http", uid="web", **ENDS, host="www.shop.example", response_body_len=99),
    row("http", uid="web", **ENDS, host="api.shop.example", response_body_len=199),
    row("http", uid="web", **ENDS, host="img.other.example", response_body_len=99),
    # Of a connection that the conn log has lost.
    row("http", uid="lost", orig_h=BOB, resp_h=VIRGINIA, host="lost.example", response_body_len=7),
]
SSL = [
    row("ssl", uid="tls", orig_h=BOB, resp_h=OREGON, server_name="cloud.box.example"),
    row("ssl", uid="cdn", orig_h=BOB, resp_h=CLOUDFRONT, cert_chain_fuids="FaBcDeF1,FzZzZzZ2"),
]
X509 = [row("x509", id="FaBcDeF1", **{"certificate.subject": "CN=*.cloudfront.net,O=Amazon"})]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traffic")
    logs = {"conn": CONN, "http": HTTP, "ssl": SSL, "x509": X509}
    read(folder, *(header(kind) + "".join(rows) for kind, rows in logs.items()))
    return compute_traffic(folder / "out0")


def rows_of(report, table_id, *columns):
    table = report.tables[table_id]
    return [tuple(r[table.columns.index(c)] for c in columns) for r in table.rows]


def test_it_works(report):
    assert report.checks == []
    assert list(report.tables) == list(report.headlines) == [spec.id for spec in TRAFFIC_SPECS]
    for spec in TRAFFIC_SPECS:
        table = report.tables[spec.id]
        assert table.columns == spec.columns
        assert all(len(r) == len(spec.columns) for r in table.rows)


def test_clouds(report):
    columns = ("provider", "bytes", "bytes_share", "flows", "clients", "unsized_flows")
    assert rows_of(report, "traffic-clouds", *columns) == [
        ("aws", 5007, round(5007 / 5323, 6), 4, 2, 0),
        ("azure", 316, round(316 / 5323, 6), 8, 1, 1),
        ("total", 5323, 1.0, 12, 2, 1),
    ]
    assert report.headlines["traffic-clouds"] == "94.1 % of the bytes towards clouds go to Amazon"


def test_too_few_clients_have_no_interval(report):
    assert set(rows_of(report, "traffic-clouds", "bytes_low", "flows_high")) == {(None, None)}


def test_protocols(report):
    found = rows_of(report, "traffic-protocols", "provider", "protocol", "bytes", "flows")
    assert {r[1:] for r in found if r[0] == "aws" and r[3]} == {
        ("http", 1007, 2),
        ("https", 4000, 2),
    }
    assert {r[1:] for r in found if r[0] == "azure"} == {
        ("icmp", 168, 1),
        ("http", 0, 1),
        ("https", 0, 0),
        ("dns", 100, 1),
        ("other-tcp", 33, 2),
        ("quic", 7, 1),
        ("other-udp", 5, 1),
        ("other", 3, 1),
    }
    assert sum(r[2] for r in found if r[0] == "total") == 5323


def test_domains(report):
    columns = ("provider", "position", "domain", "bytes", "bytes_share", "flows", "evidence")
    # A thousand bytes are shared out as 100, 200 and 100 of 400.
    assert rows_of(report, "traffic-domains", *columns) == [
        ("aws", 1, "box.example", 3000, round(3000 / 5007, 6), 1, "server name"),
        ("aws", 2, "cloudfront.net", 1000, round(1000 / 5007, 6), 1, "certificate name"),
        ("aws", 3, "shop.example", 750, round(750 / 5007, 6), 1, "host"),
        ("aws", 4, "other.example", 250, round(250 / 5007, 6), 1, "host"),
        ("aws", 5, "lost.example", 7, round(7 / 5007, 6), 1, "host"),
    ]


def test_evidence(report):
    columns = ("provider", "evidence", "bytes", "flows", "domains")
    assert rows_of(report, "traffic-evidence", *columns) == [
        ("aws", "server name", 3000, 1, 1),
        ("aws", "host", 1007, 2, 3),
        ("aws", "certificate name", 1000, 1, 1),
        ("azure", "no name", 0, 1, 0),
    ]


def test_directions(report):
    columns = ("provider", "direction", "bytes", "flows", "counted")
    assert rows_of(report, "traffic-directions", *columns) == [
        ("aws", "opened inside, towards the cloud", 5007, 4, True),
        ("azure", "opened by the cloud, towards inside", 600, 1, False),
        ("azure", "opened inside, towards the cloud", 316, 8, True),
        ("azure", "opened outside, towards the cloud", 100, 1, False),
    ]


def test_regions(report):
    found = rows_of(report, "traffic-regions", "provider", "region", "bytes", "flows", "servers")
    assert found[:3] == [
        ("aws", "us-west-2", 3000, 1, 1),
        ("aws", "us-east-1", 1007, 2, 1),
        ("aws", None, 1000, 1, 1),
    ]


def test_quality(report):
    assert report.quality["unmatched"] == {"http": 1, "ssl": 0, "dns": 0}
    assert report.quality["sized_by_bodies"] == 1
    assert (report.quality["unsized"], report.quality["flows"]) == (1, 14)
    assert report.totals == {"aws": (5007, 4), "azure": (1016, 10)}


def test_an_import_without_a_cloud_gives_empty_tables(tmp_path):
    read(tmp_path, header("conn") + conn("C1", ALICE, STRANGER))
    report = compute_traffic(tmp_path / "out0")
    assert report.checks == []
    assert rows_of(report, "traffic-clouds", "provider", "flows") == [
        ("aws", 0),
        ("azure", 0),
        ("total", 0),
    ]
    assert all(report.headlines.values())
