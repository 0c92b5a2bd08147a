"""``campaign import`` as people call it: what others measured becomes a campaign of its own."""

import gzip
import json

import pytest
from django.core.management import CommandError, call_command

from webapp.store.access.visibility import OPERATOR
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign

pytestmark = pytest.mark.django_db
PING = {
    "type": "ping",
    "prb_id": 7,
    "msm_id": 1,
    "timestamp": 1_675_968_283,
    "dst_addr": "52.0.0.1",
    "dst_name": "t.example",
    "proto": "ICMP",
    "sent": 3,
    "result": [{"rtt": 10.5}, {"x": "*"}],
}
TRACE = {
    "type": "traceroute",
    "prb_id": 8,
    "msm_id": 2,
    "timestamp": 1_675_969_283,
    "dst_addr": "52.0.0.1",
    "from": "4.1.0.9",
    "proto": "ICMP",
    "result": [{"hop": 1, "result": [{"from": "52.0.0.1", "rtt": 1.5}]}],
}


@pytest.fixture(autouse=True)
def lake(tmp_path, settings):
    settings.LAKE_DIR = tmp_path / "lake"


def run(capsys, *arguments):
    call_command("campaign", "import", *map(str, arguments), "--json")
    return json.loads(capsys.readouterr().out)


def test_results_of_atlas_become_a_campaign_that_says_where_it_came_from(capsys, tmp_path):
    path = tmp_path / "atlas.json.gz"
    results = [
        PING,
        {**PING, "timestamp": PING["timestamp"] + 1800, "result": [{"rtt": 12.5}]},
        TRACE,
        {"type": "dns", "prb_id": 1, "timestamp": 2, "result": {}},
        {**PING, "prb_id": "who"},
    ]
    path.write_bytes(gzip.compress(json.dumps(results).encode()))
    found = run(capsys, path, "--name", "Their pings")
    assert (found["campaign"], found["state"], found["label"]) == (
        "their-pings",
        "finished",
        "Imported, measured by others: RIPE Atlas",
    )
    assert (found["vantages"], found["targets"], found["progress"]["rounds"]) == (2, 2, 3)
    assert (found["progress"]["ok"], found["progress"]["failed"]) == (3, 0)
    row = Campaign.objects.get(slug="their-pings")
    assert row.started_at.timestamp() == PING["timestamp"] // 900 * 900
    assert row.notes[-1].endswith("could not be read: other_kind 1, no_probe 1.")
    regions = selectors.tables(row)["latency-regions"].dicts()
    assert [(r["region"], r["n"], r["sent"], r["mean"]) for r in regions] == [
        ("t.example", 2, 6, 11.5)
    ]
    assert selectors.campaign("their-pings", OPERATOR).is_final


def test_regions_that_measured_stand_on_the_map_where_their_cloud_has_them(capsys, tmp_path):
    path = tmp_path / "matrix.json"
    path.write_text('{"us-east-1": {"eu-west-1": 70}}')
    row = Campaign.objects.get(slug=run(capsys, path)["campaign"])
    spots = selectors.vantage_points([*row.vantages, "aws/nowhere", "somebody"])
    (spot,) = spots.values()
    assert (spot.name, spot.city, spot.country) == ("aws/us-east-1", "us-east-1", "US")
    assert 37 < spot.lat < 40


@pytest.mark.parametrize(
    ("text", "options", "form", "means"),
    [
        ('{"a-1": {"a-1": 2.5, "b-1": 70}}', (), "a matrix of regions", {"a-1": 2.5, "b-1": 70}),
        (",a-1,b-1\na-1,2.5,70\n", (), "a matrix of regions", {"a-1": 2.5, "b-1": 70}),
        ("0 20\n10 0\n", (), "a square table", {"0": 20, "1": 10}),
        (
            "0 0.02 0.5\n0.01 0 0.5\n0.01 0.02 0\n",
            ("--unit", "s"),
            "a square table",
            {"0": 260, "1": 255, "2": 15},
        ),
        (
            "node 1\nnode 2\n1,2 20000\n2,1 10000\n",
            ("--unit", "us"),
            "a list of pairs",
            {"1": 10, "2": 20},
        ),
        (
            "source,destination,rtt_avg_ms\nOslo,Rome,20\nRome,Oslo,10\n",
            ("--region", "Rome"),
            "WonderNetwork",
            {"Rome": 20},
        ),
        (
            "a.TestTime,client.Geo.CountryCode,server.Site,a.MeanThroughputMbps,a.MinRTT\n"
            "2024-01-01 00:15:00 UTC,DE,fra,8,12.5\n",
            (),
            "M-Lab speed tests",
            {"fra": 12.5},
        ),
        (
            '{"type":"ping","method":"icmp-echo","src":"4.0.0.1","dst":"52.0.0.1",'
            '"start":{"sec":900},"ping_sent":1,"responses":[{"seq":0,"rtt":3.5}]}\n',
            (),
            "scamper",
            {"52.0.0.1": 3.5},
        ),
    ],
)
def test_each_form_is_known_by_its_contents(capsys, tmp_path, text, options, form, means):
    path = tmp_path / "theirs.txt"
    path.write_text(text)
    found = run(capsys, path, *options)
    assert found["label"] == f"Imported, measured by others: {form}"
    row = Campaign.objects.get(slug=found["campaign"])
    regions = selectors.tables(row)["latency-regions"].dicts()
    assert {r["region"]: r["mean"] for r in regions} == pytest.approx(means)


def test_what_cannot_be_imported_is_one_line_and_leaves_nothing(capsys, tmp_path):
    path, other = tmp_path / "x.txt", tmp_path / "y.txt"
    for text, message in (
        ("", "holds no|nothing that was measured|not a matrix"),
        ("hello, world\n", "of no form that is known"),
        ('{"hello": "world"}', "of no form that is known"),
        (
            json.dumps([{**PING, "type": "dns"}]),
            "nothing that was measured is in there: other_kind",
        ),
        ("0 1\n1\n", "line 2: 2 rows need as many columns"),
    ):
        path.write_text(text)
        with pytest.raises(CommandError, match=message):
            run(capsys, path)
    path.write_text("0 1\n1 0\n")
    other.write_text(json.dumps([PING]))
    for arguments, message in (
        ((path, other), "several forms: atlas, square"),
        ((path, "--form", "csv"), "'csv' is not a form; there are atlas, scamper"),
        ((path, "--unit", "h"), "'h' is not a unit"),
        ((tmp_path / "absent.txt",), "absent.txt cannot be read"),
    ):
        with pytest.raises(CommandError, match=message):
            run(capsys, *arguments)
    assert not Campaign.objects.exists()


GLOBALPING = {
    "type": "ping",
    "target": "a.example",
    "createdAt": "2026-01-02T03:04:05Z",
    "results": [
        {
            "probe": {"country": "DE", "city": "Berlin", "asn": 1},
            "result": {
                "status": "finished",
                "timings": [{"rtt": r} for r in (float("nan"), -3, 1e300, 4.5)],
            },
        }
    ],
}
SCAMPER = {
    "type": "trace",
    "src": "4.0.0.1",
    "dst": "52.0.0.1",
    "start": {"sec": 900},
    "hops": [
        {"addr": "4.0.0.2", "probe_ttl": 1, "rtt": -1.5},
        {"addr": "52.0.0.1", "probe_ttl": 2, "rtt": 9.5},
    ],
}


@pytest.mark.parametrize(
    ("content", "n", "told"),
    [
        (GLOBALPING, 1, "impossible 3"),
        (SCAMPER, None, "impossible 1"),
        ({**PING, "result": [{"rtt": -3.5}, {"rtt": 1e30}, {"rtt": 2.5}]}, 1, "impossible 2"),
    ],
)
def test_an_impossible_round_trip_is_counted_and_costs_no_other(capsys, tmp_path, content, n, told):
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(content) + "\n")
    row = Campaign.objects.get(slug=run(capsys, path)["campaign"])
    assert row.notes[-1].endswith(f"could not be read: {told}.")
    if n is not None:
        (region,) = selectors.tables(row)["latency-regions"].dicts()
        assert (region["n"], region["max"] < 5) == (n, True)
