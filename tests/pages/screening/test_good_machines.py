"""Shares of good machines by placement over the pools that a reader may see."""

import csv
import io
import random
import time

import pytest
from django.test import Client

from tasks.screening.emulated_reports import build_report
from tests.pages.screening.screening_cast import make_person, make_pool, send

VIRGINIA = {"provider": "aws", "region": "us-east-1", "zone": "us-east-1a"}
IRELAND = {"provider": "aws", "region": "eu-west-1", "zone": "eu-west-1b"}
NUMBERED = {"provider": "azure", "region": "westeurope", "zone": "2"}


def report(name, kind, rng, **host):
    return build_report(name, kind, time.time() - 60, rng, cpus=1, **host)


@pytest.fixture
def owner(db):
    person = make_person("owner@example.org")
    rng = random.Random(11)
    for pool in ("Morning", "Evening"):
        made = make_pool(person, pool)
        kinds = {"us": ("quiet", VIRGINIA), "ie": ("steal", IRELAND), "we": ("quiet", NUMBERED)}
        reports = [
            report(f"{pool}-{key}-{n}", kind, rng, instance_type="m5.large", **host)
            for key, (kind, host) in kinds.items()
            for n in range(4)
        ]
        send(made, [*reports, report(f"{pool}-bare", "quiet", rng)])
    # The same machine in another pool, by name and machine id, counts once.
    twin = {"machine_id": "ab" * 16, **VIRGINIA}
    for pool in ("Twin 1", "Twin 2"):
        send(make_pool(person, pool), [report("twin", "quiet", rng, **twin)])
    return person


@pytest.fixture
def reader(owner):
    client = Client()
    client.force_login(owner)
    return client


def rows(client, by):
    body = client.get("/api/v1/screening/good-shares", {"by": by})
    assert body.status_code == 200, body.content
    return body.json()


def test_regions_are_compared_with_their_intervals(reader):
    found = rows(reader, "region")
    figures = {row["group"]: (row["n"], row["good"], row["pools"]) for row in found["rows"]}
    assert figures == {
        "aws/us-east-1": (9, 9, 3),
        "azure/westeurope": (8, 8, 2),
        "aws/eu-west-1": (8, 0, 2),
    }
    assert found["unplaced"] == 2
    assert found["rows"][0]["group"] == "aws/us-east-1"
    text = reader.get("/screening/good-machines/").content.decode()
    assert "N. Virginia (us-east-1): 9 of 9 machines are good; Ireland (eu-west-1): 0 of 8" in text


def test_zones_types_and_cpus_are_groups_too(reader):
    zones = {row["group"] for row in rows(reader, "zone")["rows"]}
    assert zones == {"aws/us-east-1a", "aws/eu-west-1b", "azure/westeurope-2"}
    types = rows(reader, "type")
    assert [(row["group"], row["n"], row["good"]) for row in types["rows"]] == [
        ("m5.large", 24, 16)
    ]
    cpus = rows(reader, "cpu")
    assert [row["n"] for row in cpus["rows"]] == [27]
    assert cpus["unplaced"] == 0
    assert reader.get("/screening/good-machines/?by=moon").status_code == 404
    assert reader.get("/api/v1/screening/good-shares?by=moon").status_code == 422


def test_the_file_has_the_same_figures(reader):
    text = reader.get("/screening/good-machines.csv?by=region").content.decode()
    lines = {row["group"]: row for row in csv.DictReader(io.StringIO(text))}
    for row in rows(reader, "region")["rows"]:
        assert float(lines[row["group"]]["low"]) == pytest.approx(row["low"])


def test_others_see_nothing_of_private_pools(owner):
    stranger = Client()
    stranger.force_login(make_person("stranger@example.org"))
    for client in (stranger, Client()):
        assert rows(client, "region")["rows"] == []
        assert "us-east-1" not in client.get("/screening/good-machines/").content.decode()
        assert "eu-west-1" not in client.get("/screening/good-machines.csv").content.decode()


def test_names_that_are_no_placement_are_refused(owner):
    import json

    from core.errors import BadInput
    from screening.report.parsing import parse_report

    for value in ("<b>", "a b", "x" * 65, 'r"'):
        body = report("n", "quiet", random.Random(1), region=value)
        with pytest.raises(BadInput) as refused:
            parse_report(json.dumps(body).encode(), time.time())
        assert refused.value.field == "host.region"
