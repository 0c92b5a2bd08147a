"""Who fails with an outage: the list that stands behind every number of the report."""

import re
from collections import Counter
from typing import Any

import pytest
from django.test import Client

from tasks.surveys import shard_run
from tests.analysis.deployment.world_cast import CAST, SURVEY, write_lake
from webapp.store.models import Shard, Survey
from webapp.store.surveys import index as survey_index
from webapp.store.surveys import selectors, services


@pytest.fixture
def finished(db: Any, settings: Any, tmp_path: Any) -> Survey:
    settings.LAKE_DIR = tmp_path / "lake"
    survey = services.create_survey(b"shop.example\nnews.example\n", name=SURVEY, n_words=5)
    write_lake(settings.LAKE_DIR, CAST, per_shard=9)
    survey.shards.update(state=Shard.State.DONE, key="000000")
    services.mark_running(survey, [], "")
    shard_run.conclude(survey)
    survey.refresh_from_db()
    return survey


def test_it_works(finished: Survey) -> None:
    index = survey_index.index_of(finished)
    assert index is not None
    table = selectors.report(finished.slug, "outage-domains")
    assert table is not None
    assert table.rows
    for cells in table.rows:
        row = dict(zip(table.columns, cells, strict=True))
        found = index.affected_domains(row["kind"], row["provider"] or "", row["target"])
        rows = found.page(0, 1_000)
        states = Counter(r["state"] for r in rows)
        assert (states["down"], states["part"]) == (row["down"], row["part"]), row
        assert rows == sorted(rows, key=lambda r: (r["state"], r["rank"], r["domain"]))
        assert all(r["down"] + r["part"] <= r["names"] or r["silent"] for r in rows)


@pytest.mark.parametrize("kind", ["region", "provider", "operator"])
def test_every_kind_has_a_page(client: Client, finished: Survey, kind: str) -> None:
    answer = client.get(f"/s/{finished.slug}/outages/", {"kind": kind})
    assert answer.status_code == 200
    assert "fails" in answer.content.decode()


def test_page_and_api_name_the_same_domains(client: Client, finished: Survey) -> None:
    query = {"kind": "region", "provider": "aws", "target": "us-east-1"}
    text = client.get(f"/s/{finished.slug}/outages/", query).content.decode()
    found = client.get(f"/api/v1/surveys/{finished.slug}/outages.json", query).json()
    assert found["total"] == len(found["rows"]) > 0
    for row in found["rows"]:
        assert f"/domains/{row[1]}/" in text
    down = client.get(f"/s/{finished.slug}/outages/", {**query, "state": "down"}).content.decode()
    for row in found["rows"]:
        assert (f"/domains/{row[1]}/" in down) == (row[2] == "down")
    lines = client.get(f"/api/v1/surveys/{finished.slug}/outages.csv", query).content.decode()
    assert len(lines.splitlines()) == 1 + found["total"]


def test_what_is_not_there_is_said(client: Client, finished: Survey) -> None:
    base = f"/s/{finished.slug}/outages/"
    assert client.get(base, {"kind": "planet"}).status_code == 404
    assert client.get(base, {"kind": "region", "target": "atlantis"}).status_code == 404
    assert client.get("/s/nobody/outages/").status_code == 404


def test_an_outage_of_few_is_told_in_counts(client: Client, finished: Survey) -> None:
    page = client.get(f"/s/{finished.slug}/outages/").content.decode()
    sentence = page.partition("<h1>")[2].partition("</h1>")[0]
    assert " of the " in sentence
    assert not re.search(r"\d\u202f%", page.partition("<h1>")[2])
