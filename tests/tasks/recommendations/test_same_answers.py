"""The same question by command, API and page gives the same figures, those of enumeration."""

import json
from contextlib import suppress
from io import StringIO
from itertools import combinations

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from analysis.impact.carbon import read_carbon
from core.errors import BadInput
from webapp.store.models import Recommendation

pytestmark = pytest.mark.django_db
REGIONS = ("us-east-1", "us-west-2", "sa-east-1", "eu-west-1", "eu-central-1", "ap-south-1")
HEAD = "region,g_per_kwh,date,source\n"


def tables(seed):
    chance = np.random.default_rng(seed)
    values = chance.integers(20, 200, (len(REGIONS), 9))
    grams = chance.integers(0, 600, len(REGIONS))
    rows = [f"1,c{i},{n},{values[j, i]}" for j, n in enumerate(REGIONS) for i in range(9)]
    carbon = [f"{n},{grams[j]},2026-01-31,own meter" for j, n in enumerate(REGIONS)]
    return values, grams, "round,client,region,value\n" + "\n".join(rows), HEAD + "\n".join(carbon)


def figures(document):
    return [(row["k"], row["regions"], row["value"], row["proven"]) for row in document["results"]]


def enumerate_best(values, grams, limit, k):
    allowed = [j for j in range(len(REGIONS)) if grams[j] <= limit]
    return min(
        (values[list(chosen)].min(axis=0).mean() for chosen in combinations(allowed, k)),
        default=None,
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_limit_of_carbon_by_command_api_and_page(seed, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    values, grams, samples, carbon = tables(seed)
    limit = int(np.sort(grams)[3])
    (tmp_path / "samples.csv").write_text(samples)
    (tmp_path / "carbon.csv").write_text(carbon)
    said = StringIO()
    path, table = str(tmp_path / "samples.csv"), str(tmp_path / "carbon.csv")
    arguments = (path, "--carbon", table, "--max-carbon", str(limit), "--k", "1..4", "--json")
    call_command("regions", "recommend", *arguments, stdout=said)
    by_command = json.loads(said.getvalue())

    body = {"samples": samples, "carbon": carbon, "max_carbon": limit, "k": "1..4"}
    kind = "application/json"
    by_api = Client().post("/api/v1/recommendations", body, content_type=kind).json()["result"]

    files = {
        name: SimpleUploadedFile(f"{name}.csv", text.encode())
        for name, text in (("samples", samples), ("carbon", carbon))
    }
    form = {**files, "objective": "latency", "k": "1..4"}
    page = Client().post("/recommendations/samples/", form)["Location"]
    Client().post(f"{page}keep/?set=1&max_carbon={limit}")
    by_page = Recommendation.objects.order_by("-pk")[0].result

    assert figures(by_command) == figures(by_api) == figures(by_page)
    for k, regions, value, proven in figures(by_api):
        expected = enumerate_best(values, grams, limit, k)
        assert proven
        assert value == pytest.approx(expected)
        assert all(grams[REGIONS.index(name)] <= limit for name in regions)
    assert by_api["carbon"][0]["as_of"] == "2026-01-31"
    text = Client().get(f"{page}?set=1&max_carbon={limit}&k=2").content.decode()
    assert "own meter, 2026-01-31" in " ".join(text.split())


COUNTRIES = ("DE", "DE", "DE", "US", "US", "US", "JP", "JP", "BR")


@pytest.mark.parametrize("robust", [False, True])
def test_the_worst_country_by_command_api_and_page(robust, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    values, _, samples, _ = tables(4)
    rows = [f"c{i},{country}" for i, country in enumerate(COUNTRIES)]
    clients = "client,country\n" + "\n".join(rows)
    (tmp_path / "samples.csv").write_text(samples)
    (tmp_path / "clients.csv").write_text(clients)
    lost = ("--survive-loss",) if robust else ()
    paths = (str(tmp_path / "samples.csv"), "--clients", str(tmp_path / "clients.csv"))
    by_command = ask_command(*paths, "--worst-country", *lost, "--k", "2..4")

    asked = {"worst_country": True, "survive_loss": robust, "k": "2..4"}
    body = {"samples": samples, "clients": clients, **asked}
    kind = "application/json"
    by_api = Client().post("/api/v1/recommendations", body, content_type=kind).json()["result"]

    files = {
        name: SimpleUploadedFile(f"{name}.csv", text.encode())
        for name, text in (("samples", samples), ("clients", clients))
    }
    form = {**files, "objective": "latency", "k": "2..4"}
    page = Client().post("/recommendations/samples/", form)["Location"]
    query = f"set=1&percentile=worst-country{'&survive_loss=1' if robust else ''}"
    Client().post(f"{page}keep/?{query}")
    by_page = Recommendation.objects.order_by("-pk")[0].result

    assert figures(by_command) == figures(by_api) == figures(by_page)
    check_worst_countries(by_api["results"], values, robust)
    text = " ".join(Client().get(f"{page}?{query}&k=3").content.decode().split())
    assert "worst country’s mean round-trip time" in text
    assert f"Of 4 countries, {by_api['results'][1]['countries'][0]['country']} is served" in text
    assert '<option value="worst-country" selected>' in text


def ask_command(*arguments):
    said = StringIO()
    call_command("regions", "recommend", *arguments, "--json", stdout=said)
    return json.loads(said.getvalue())


def check_worst_countries(rows, values, robust):
    for row in rows:
        assert row["proven"]
        assert row["certificate"]["checked"]
        assert row["value"] == pytest.approx(least_worst_country(values, row["k"], robust))
        assert row["static"] is None
        worst = row["countries"][0]
        assert row["value"] == pytest.approx(worst["after_loss"] if robust else worst["value"])
        assert worst["clients"] == COUNTRIES.count(worst["country"])


def least_worst_country(values, k, robust):
    def worst(chosen):
        least = values[list(chosen)].min(axis=0)
        return max(
            np.mean([v for v, c in zip(least, COUNTRIES, strict=True) if c == country])
            for country in set(COUNTRIES)
        )

    def after_loss(chosen):
        return max(map(worst, combinations(chosen, k - 1)))

    return min(map(after_loss if robust else worst, combinations(range(len(REGIONS)), k)))


@pytest.mark.parametrize(
    ("more", "field"),
    [({}, "worst_country"), ({"percentile": 95}, "worst_country"), ({"front": True}, "front")],
)
def test_a_worst_country_that_cannot_be_found_names_the_field(more, field, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    clients = "client,country\n" + "\n".join(f"c{i},DE" for i in range(9 if more else 8))
    body = {"samples": tables(1)[2], "clients": clients, "worst_country": True, **more}
    reply = Client().post("/api/v1/recommendations", body, content_type="application/json")
    assert reply.status_code == 422
    assert reply.json()["field"] == field


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + "a,-1,2026-01-31,x\n", "from 0|between 0"),
        (HEAD + "a,,2026-01-31,x\n", "g_per_kwh is empty"),
        (HEAD + "a,1,31.1.2026,x\n", "is not a day"),
        (HEAD + "a,1,2026-01-31,\n", "source is empty"),
        (HEAD + "a,1,2026-01-31,x\na,2,2026-01-31,x\n", "second row"),
        ("region,g_per_kwh\na,1\n", "date"),
    ],
)
def test_a_wrong_table_of_carbon_names_its_line_or_column(text, words):
    with pytest.raises(BadInput, match=words):
        read_carbon(text.encode())


@given(st.binary(max_size=80))
def test_any_bytes_are_a_table_of_carbon_or_bad_input(data):
    with suppress(BadInput):
        read_carbon(HEAD.encode() + data)


def test_a_region_without_carbon_is_named(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    _, _, samples, carbon = tables(1)
    body = {"samples": samples, "carbon": carbon.rsplit("\n", 1)[0], "max_carbon": 900}
    reply = Client().post("/api/v1/recommendations", body, content_type="application/json")
    assert reply.status_code == 422
    assert "ap-south-1" in reply.json()["detail"]
