"""Beacons: made, reported to within bounds, read as medians, and used for a recommendation."""

import gzip
import json
import math
from datetime import timedelta
from statistics import median as exact_median

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from analysis.impact.clients.rtt_histogram import bin_of, median
from webapp.api.recommendations import beacon_reports
from webapp.store.models import Beacon, BeaconCell
from webapp.store.ranges import geolocation
from webapp.store.recommendations import beacons
from webapp.store.requests.address_rates import AddressRates

pytestmark = pytest.mark.django_db
ORIGIN = "https://www.example.com"
URL = "https://probe.example.com/empty"
BODY = {"name": "Shop", "targets": {"aws/eu-central-1": URL}, "origins": [f"{ORIGIN}:443/"]}


@pytest.fixture
def anna(settings, tmp_path, monkeypatch):
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(beacon_reports, "_rates", AddressRates(30))
    client = Client(raise_request_exception=False)
    client.force_login(get_user_model().objects.create_user("anna"))
    return client


def create(client, **more):
    return client.post("/api/v1/beacons", json.dumps({**BODY, **more}), "application/json")


def report(key, rows=(("aws/eu-central-1", 21.5),), origin=ORIGIN, **more):
    text = rows if isinstance(rows, bytes) else json.dumps([list(row) for row in rows])
    return Client().post(f"/beacon/{key}", text, "text/plain", headers={"Origin": origin}, **more)


@given(st.lists(st.floats(0.2, 9_999), min_size=1, max_size=60))
def test_a_median_from_bins_is_within_a_hundredth(values):
    counts = {}
    for value in values:
        counts[bin_of(value)] = counts.get(bin_of(value), 0) + 1
    ordered = sorted(values)
    low, high = ordered[(len(values) - 1) // 2], ordered[len(values) // 2]
    assert low / 1.0101 <= median(counts) <= high * 1.0101
    if len(values) % 2:
        assert math.isclose(median(counts), exact_median(values), rel_tol=0.0101)
    assert median({}) is None


def test_the_script_is_small_public_and_sets_no_cookie(anna):
    targets = {f"aws/region-{n}": f"https://region-{n}.probe.example.com/empty" for n in range(30)}
    made = create(anna, targets=targets).json()
    reply = Client().get(f"/beacon/{made['id']}.js")
    assert reply.status_code == 200
    assert reply["Content-Type"].startswith("text/javascript")
    assert reply["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "Set-Cookie" not in reply
    assert not reply.cookies
    assert len(gzip.compress(reply.content)) <= 2048
    assert f"/beacon/{made['id']}.js" in made["snippet"]
    assert made["origins"] == [ORIGIN]


def test_reports_become_medians_by_country_and_an_answer(anna):
    geolocation.import_file(b"127.0.0.0/8,DE,,Berlin,\n", file_name="places.csv")
    targets = {"aws/eu-central-1": URL, "aws/us-east-1": URL + "2"}
    made = create(anna, targets=targets).json()
    for n in range(12):
        rows = (("aws/eu-central-1", 20 + n / 10), ("aws/us-east-1", 95.0))
        answer = report(made["id"], rows)
        assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (204, ORIGIN)
        assert not answer.cookies
    shown = anna.get(f"/api/v1/beacons/{made['id']}").json()
    found = {row["region"]: (row["country"], row["rtt_ms"], row["n"]) for row in shown["medians"]}
    assert found["aws/us-east-1"] == ("DE", pytest.approx(95, rel=0.01), 12)
    assert found["aws/eu-central-1"] == ("DE", pytest.approx(20.55, rel=0.01), 12)
    assert shown["reports_today"] == 12
    assert not [
        v for cell in BeaconCell.objects.values() for v in cell.values() if "127." in str(v)
    ]

    form = {"audience": "DE/Berlin 3\nFR 1", "source": f"beacon:{made['id']}"}
    assert "your visitors in 1 country" in " ".join(
        anna.get("/recommendations/clients/").content.decode().split()
    )
    page = anna.get(anna.post("/recommendations/clients/", form)["Location"])
    text = " ".join(page.content.decode().split())
    assert "medians of your visitors’ browsers" in text
    assert "75.0 % of the clients measured" in text.replace("\u202f", " ")
    other = Client().post("/recommendations/clients/", form)
    assert other.status_code == 422


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        (b"no JSON", 422),
        (b"[]", 422),
        (b"[" * 5000, 422),
        (b"[1]", 422),
        (b'[["aws/eu-central-1", -1]]', 422),
        (b'[["aws/eu-central-1", NaN]]', 422),
        (b'[["aws/eu-central-1", true]]', 422),
        (b'[["mars", 5]]', 422),
        (b'[["aws/eu-central-1", 5]]' + b" " * 7000, 413),
    ],
)
def test_a_wrong_report_counts_nothing(anna, rows, status):
    made = create(anna).json()
    assert report(made["id"], rows).status_code == status
    assert not BeaconCell.objects.exists()


def test_reports_are_bounded_by_origin_day_and_address(anna):
    made = create(anna, max_reports_per_day=3).json()
    assert report(made["id"], origin="https://other.example").status_code == 403
    assert report(made["id"], origin="null").status_code == 403
    assert [report(made["id"]).status_code for _ in range(4)] == [204, 204, 204, 429]
    yesterday = timezone.now().date() - timedelta(days=1)
    Beacon.objects.update(counted_on=yesterday)
    BeaconCell.objects.update(day=yesterday - timedelta(days=beacons.DAYS))
    assert report(made["id"]).status_code == 204
    assert BeaconCell.objects.count() == 1

    row = create(anna).json()["id"]
    statuses = [report(row, REMOTE_ADDR="192.0.2.9").status_code for _ in range(32)]
    assert statuses == [204] * 30 + [429] * 2
    assert report("0" * 24).status_code == 404
    assert Client().get(f"/beacon/{'0' * 24}.js").status_code == 404


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"targets": {"r": "ftp://a.example/"}}, "not an http or https URL"),
        ({"targets": {"r": "https://me:secret@a.example/"}}, "not an http or https URL"),
        ({"targets": {"a b": URL}}, "not a name of a region"),
        ({"targets": {}}, "1 to 40 targets"),
        ({"origins": ["https://a.example/path"]}, "not an origin"),
        ({"origins": ["*"]}, "not an origin"),
        ({"sample_share": 0}, "greater than 0"),
        ({"name": " "}, "a name"),
    ],
)
def test_wrong_settings_are_refused(anna, more, words):
    reply = create(anna, **more)
    assert (reply.status_code, words in reply.json()["detail"]) == (422, True), reply.content
    assert not Beacon.objects.exists()
    assert create(Client()).status_code == 401
