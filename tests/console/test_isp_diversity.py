"""``isp-diversity`` as people call it: real and made-up traceroutes, counted a second time."""

import gzip
import json
from collections import Counter

import pytest
from django.core.management import CommandError, call_command

from tests.analysis.campaigns.test_real_files import (
    CASES,
    Recount,
    content,
    published,
    route_views,
)
from tests.shared import shared_file

__all__ = ["route_views"]
pytestmark = pytest.mark.django_db
ORIGINS = "20.0.0.0/16\t64500\n30.1.0.0/16\t64601\n30.2.0.0/16\t64602\n30.3.0.0/16\t64601_64602\n"
RANGES = {
    "syncToken": "1",
    "createDate": "2024-06-24-00-00-00",
    "prefixes": [
        {
            "ip_prefix": "20.0.0.0/17",
            "region": "us-east-1",
            "service": "EC2",
            "network_border_group": "us-east-1",
        }
    ],
    "ipv6_prefixes": [],
}


def run(capsys, *arguments):
    call_command("isp-diversity", *map(str, arguments), "--json")
    return json.loads(capsys.readouterr().out)


def atlas(probe, *hops, target="20.0.0.1"):
    """One result towards the cloud; ``*`` is silence."""
    result = [
        {"hop": i, "result": [{"x": "*"}] if h == "*" else [{"from": h, "rtt": 1.5}]}
        for i, h in enumerate(hops, 1)
    ]
    return {
        "type": "traceroute",
        "prb_id": probe,
        "msm_id": 1,
        "timestamp": 1_700_000_000,
        "dst_addr": target,
        "src_addr": "192.168.0.2",
        "from": "30.1.9.9",
        "proto": "ICMP",
        "result": result,
    }


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "origins.txt").write_text(ORIGINS)
    (tmp_path / "aws.json").write_text(json.dumps(RANGES))
    return ["--asn", tmp_path / "origins.txt", "--ranges", f"aws={tmp_path / 'aws.json'}"]


def test_every_kind_of_route_is_where_it_belongs(capsys, tmp_path, tables):
    traces = [
        atlas(1, "192.168.0.1", "30.1.0.1", "20.0.0.9", "20.0.0.1"),
        atlas(2, "30.1.0.2", "20.0.0.1"),
        atlas(3, "30.2.0.2", "10.0.0.1", "20.0.0.1"),
        atlas(4, "30.2.0.2", "*", "20.0.0.1"),
        atlas(5, "30.2.0.2", "*"),
        atlas(6, "20.0.0.1"),
        atlas(7, "30.3.0.1", "20.0.0.1"),
    ]
    path = tmp_path / "traces.json.gz"
    path.write_bytes(gzip.compress(json.dumps(traces).encode()))
    (tmp_path / "names.txt").write_text("64601 One Net\nAS64602 Two Net\n")
    found = run(capsys, path, *tables, "--names", tmp_path / "names.txt")
    assert found["traces"] == {"results": 7, "probes": 7, "reached": 6, "malformed": 0}
    (row,) = found["regions"]
    assert (row["provider"], row["region"], row["zone"]) == ("aws", "us-east-1", "")
    assert (row["traces"], row["distinct"], row["certain"], row["doubtful"]) == (7, 2, 3, 1)
    assert row["isps"] == [
        {"asn": 64601, "name": "One Net", "traces": 2, "share": pytest.approx(2 / 3)},
        {"asn": 64602, "name": "Two Net", "traces": 1, "share": pytest.approx(1 / 3)},
    ]
    assert row["effective"] == pytest.approx(9 / 5)
    assert row["unknown"] == {"cloud_not_reached": 1, "never_left": 1, "several_origins": 1}
    assert [i["asn"] for i in row["doubtful_isps"]] == [64602]
    # The same line by line, of own parts, and told in words.
    lines = tmp_path / "traces.jsonl"
    lines.write_text("\n".join(map(json.dumps, traces)))
    assert run(capsys, lines, *tables)["regions"][0]["unknown"] == row["unknown"]
    call_command("isp-diversity", str(path), *map(str, tables))
    assert "aws us-east-1: at least 2 ISPs" in capsys.readouterr().out


def test_a_file_without_a_traceroute_is_refused(tmp_path, tables):
    ping = {
        "type": "ping",
        "prb_id": 1,
        "msm_id": 2,
        "timestamp": 1_700_000_000,
        "proto": "ICMP",
        "dst_addr": "20.0.0.1",
        "src_addr": "192.168.0.2",
        "from": "30.1.9.9",
        "sent": 1,
        "rcvd": 1,
        "result": [{"rtt": 1.5}],
    }
    path = tmp_path / "pings.json"
    path.write_text(json.dumps([ping] * 89))

    with pytest.raises(CommandError, match="there is no traceroute in pings.json; 89 res") as found:
        call_command("isp-diversity", str(path), *map(str, tables))
    assert found.value.returncode == 2


def test_without_a_certain_route_the_command_says_what_to_do(capsys, tmp_path, tables):
    path = tmp_path / "traces.json"
    path.write_text(json.dumps([atlas(1, "31.1.0.1", "20.0.0.1")]))
    call_command("isp-diversity", str(path), *map(str, tables), "--json")
    out, err = capsys.readouterr()

    (row,) = json.loads(out)["regions"]
    assert (row["certain"], row["unknown"]) == (0, {"unannounced": 1})
    assert "hint: no route is certain (unannounced 1): a table of origin ASes that is" in err
    assert any("--asn-as-of DATE" in note for note in json.loads(out)["notes"])

    call_command("isp-diversity", str(path), *map(str, tables[:2]), "--json")
    assert (
        "hint: no route is certain (no cloud end 1): no table of ranges" in capsys.readouterr().err
    )


def test_a_sample_of_the_table_of_origins_is_not_used(capsys, tmp_path, tables):
    name = tmp_path / "ipasn_20140513.dat"
    name.write_text(ORIGINS)
    sample = tmp_path / "ip2asn-v4-sample-2020.tsv"
    sample.write_text("8.8.8.0\t8.8.8.255\t15169\tUS\tGOOGLE\n")
    for path in (name, sample):
        call_command("asn", "import", str(path))
    path = tmp_path / "traces.json"
    path.write_text(json.dumps([atlas(1, "30.1.0.1", "20.0.0.9", "20.0.0.1")]))
    capsys.readouterr()
    call_command("isp-diversity", str(path), *map(str, tables[2:]), "--json")
    out, err = capsys.readouterr()

    assert json.loads(out)["regions"][0]["certain"] == 1
    assert "origin ASes are those of 2014-05-13 (4 entries); not used is what is newer" in err


@pytest.mark.parametrize(("traces", "provider", "ranges", "region", "n"), CASES)
def test_real_traceroutes_equal_an_independent_count(
    capsys, route_views, traces, provider, ranges, region, n
):
    data = shared_file("ip-asn/ipasn_20140513.dat.gz")
    call_command("ranges", "import", "asn", str(data), "--json")
    assert json.loads(capsys.readouterr().out)["as_of"] == "2014-05-13"
    file = f"{provider}={shared_file(ranges)}"
    found = run(capsys, shared_file(traces), "--asn-as-of", "2014-05-13", "--ranges", file)
    raw = json.loads(content(traces))
    again = Recount(provider, published(provider, content(ranges)), route_views)
    expected = [again.path(result) for result in raw]
    assert found["traces"]["results"] == found["traces"]["probes"] == n == len(raw)
    reached = [
        r
        for r in raw
        if r["dst_addr"] in {x.get("from") for h in r["result"][-1:] for x in h.get("result", [])}
    ]
    assert found["traces"]["reached"] == len(reached)
    (row,) = found["regions"]
    assert (row["provider"], row["region"], row["traces"]) == (provider, region, n)
    certain = Counter(isp for isp, doubt in expected if isp is not None and not doubt)
    doubtful = Counter(isp for isp, doubt in expected if isp is not None and doubt)
    unknown = Counter(reason for isp, reason in expected if isp is None)
    assert {i["asn"]: i["traces"] for i in row["isps"]} == certain
    assert {i["asn"]: i["traces"] for i in row["doubtful_isps"]} == doubtful
    assert row["unknown"] == unknown
    assert row["certain"] + row["doubtful"] + unknown.total() == n
    assert row["distinct"] == len(certain)


def test_what_cannot_be_read_is_told(capsys, tmp_path, tables):
    (tmp_path / "none.json").write_text('{"hello": "world"}')
    for arguments, message in (
        ((tmp_path / "none.json", *tables), "neither RIPE Atlas"),
        ((tmp_path / "absent.json", *tables), "cannot read"),
        ((tmp_path / "none.json", "--ranges", "aws"), "PROVIDER=F"),
        ((tmp_path / "none.json", "--asn-as-of", "1999-01-01"), "no table of origin ASes"),
        ((tmp_path / "none.json", "--asn-as-of", "soon"), "not a date like"),
    ):
        with pytest.raises(CommandError, match=message):
            run(capsys, *arguments)
