"""One mean of a set of regions on every page, in the API and in the command."""

import csv
import html
import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest

from tasks.campaigns import best_sets
from tasks.recommendations import client_latencies
from tests.pages.campaigns import campaign_cast
from webapp.console.management.commands.regions import Command
from webapp.pages.campaigns import formatting as said
from webapp.store.campaigns import selectors
from webapp.store.models import VantagePoint

CLIENTS, ROUNDS = 9, 7
NEAR = {"us-east-1": 31.7, "eu-west-1": 58.3, "sa-east-1": 113.9}


def holed_rows():
    """Each client is without network for some rounds; one region misses some more."""
    for c in range(CLIENTS):
        for t in range(ROUNDS):
            off = (c * 5 + t * 3) % 8 == 0
            for number, (region, base) in enumerate(NEAR.items()):
                misses = number == 0 and (c + t) % 6 == 0
                gone = off or misses
                values = [] if gone else [base * (1 + (c * 3 + t + number) % 7), base + t]
                status = "TIMEOUT" if gone else "OK"
                yield campaign_cast.sample(f"v-{c}", region, values, status, round=t)


@pytest.fixture(scope="module")
def campaign(django_db_setup, django_db_blocker, tmp_path_factory):
    from django.conf import settings

    before = settings.LAKE_DIR, settings.DATA_DIR
    settings.LAKE_DIR = settings.DATA_DIR = tmp_path_factory.mktemp("holed")
    with django_db_blocker.unblock():
        made = campaign_cast.campaign("holed", list(holed_rows()))
        best_sets.build(made, "latency")
        yield made
        made.delete()
        VantagePoint.objects.all().delete()
    settings.LAKE_DIR, settings.DATA_DIR = before


def text_of(client, path):
    answer = client.get(path)
    assert answer.status_code == 200, path
    plain = re.sub(r"<[^>]+>", "\t", answer.content.decode())
    return html.unescape(re.sub(r"\s*\t\s*", "\t", plain))


def rows_of(client, table):
    document = client.get(f"/api/v1/wide-area/holed/tables/{table}").json()
    return [dict(zip(document["columns"], row, strict=True)) for row in document["rows"]]


def command(*arguments):
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        Command(stdout=out, no_color=True).run_from_argv(
            ["manage.py", "regions", "recommend", *map(str, arguments)]
        )
    return out.getvalue()


def test_one_region_of_the_best_sets_is_the_overview_to_the_digit(campaign, db, client, tmp_path):
    regions = {row["region"]: row for row in rows_of(client, "latency-regions")}
    first = rows_of(client, "latency-k-regions")[0]
    best = regions[first["regions"]]
    assert first["per_round"] == best["vantage_mean"]
    assert first["static"] == pytest.approx(best["vantage_mean"], abs=1e-4)
    assert first["answered_share"] == pytest.approx(best["answered_share"])
    assert first["left_out"] == best["left_out"] > 0
    assert 0 < best["answered_share"] < 1

    shown = said.amount("latency", best["vantage_mean"])
    assert f"1\t{shown}\t{first['regions']}\t" in text_of(client, "/wide-area/holed/best-sets/")
    overview = text_of(client, "/wide-area/holed/").replace("\t", "")
    assert f"{first['regions']} is the best single region: {shown} on average" in overview
    assert f"us-east-1 (N. Virginia) has a round-trip time of {shown}" in re.sub(
        r"[\t\n ]+", " ", text_of(client, "/wide-area/holed/regions/us-east-1/")
    )

    found = client_latencies.latencies_for(campaign.slug, {}, (), None)
    samples = tmp_path / "samples.csv"
    samples.write_bytes(found.files["samples"])
    line = command(samples, "--k", 1, "--draws", 0)
    assert line.split("\t")[1] == f"{best['vantage_mean']:.3f}"
    document = json.loads(command(samples, "--k", "1..3", "--json", "--current", "sa-east-1"))
    # Whole numbers of a proof may move a mean by so much.
    slack = document["results"][0]["rounding"] + 1e-6
    assert slack < 1e-3
    assert document["results"][0]["value"] == pytest.approx(first["per_round"], abs=slack)
    assert document["left_out"] == first["left_out"]
    here = regions["sa-east-1"]["vantage_mean"]
    assert document["current"]["value"] == pytest.approx(here, abs=slack)
    for result, told in zip(document["results"], document["consequences"]["sets"][1:], strict=True):
        nothing = told["failures"][0]
        assert (nothing["kind"], nothing["moved"], nothing["lost"]) == ("nothing", 0, 0)
        assert nothing["value"] == pytest.approx(result["value"], rel=1e-12)
        assert told["all"]["mean"] == pytest.approx(result["value"], rel=1e-12)


def test_the_figure_is_that_of_plain_loops(campaign, db, client):
    cells = {}
    for row in selectors.read_table(campaign, "latency-rounds").to_pylist():
        if row["mean"] is not None:
            cells[row["vantage"], row["round"], row["region"]] = row["mean"]
    worst = max(cells.values())
    for told in rows_of(client, "latency-regions"):
        means = []
        for vantage in sorted({v for v, _, _ in cells}):
            rounds = {t for v, t, _ in cells if v == vantage}
            own = [cells.get((vantage, t, told["region"]), worst) for t in rounds]
            means.append(sum(own) / len(own))
        assert told["vantage_mean"] == pytest.approx(sum(means) / len(means), abs=1e-6)


def test_a_table_from_before_is_solved_again(campaign, db):
    from webapp.store.models import CampaignReport

    stored = CampaignReport.objects.get(campaign=campaign, table_id="latency-k-regions")
    assert best_sets.find(campaign, "latency")
    stored.columns = stored.columns[:-2]
    stored.rows = [row[:-2] for row in stored.rows]
    stored.save()
    assert best_sets.find(campaign, "latency") is None
    best_sets.solve(campaign.pk, "latency")
    assert best_sets.find(campaign, "latency")


def test_exports_hold_the_same_figure(campaign, db, client):
    regions, sets = (
        list(csv.DictReader(io.StringIO(client.get(path).content.decode())))
        for path in (
            "/api/v1/wide-area/holed/tables/latency-regions.csv",
            "/api/v1/wide-area/holed/tables/latency-k-regions.csv",
        )
    )
    by_name = {row["region"]: row["vantage_mean"] for row in regions}
    assert by_name[sets[0]["regions"]] == sets[0]["per_round"]
