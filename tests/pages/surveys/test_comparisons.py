"""What moved between two surveys is what was made to move, and failures are no moves."""

import csv
import io
import re
from typing import Any

import pytest
from django.test import Client

from tasks.surveys import derived as survey_derived
from tests.pages import cast
from tests.pages.campaigns import pairs
from webapp.store.models import Survey
from webapp.store.surveys import comparison, derived


@pytest.fixture
def pair(db: Any, settings: Any, tmp_path: Any) -> tuple[Any, Any]:
    settings.LAKE_DIR = tmp_path / "lake"
    before = cast.atlas()
    before.refresh_from_db()
    return before, pairs.after()


@pytest.fixture
def compared(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    survey_derived.compare_surveys(*pair)
    return pair


def address(pair: tuple[Any, Any], rest: str = "") -> str:
    return f"/compare/{pair[0].slug}/{pair[1].slug}/{rest}"


def test_it_works(client: Client, compared: tuple[Any, Any]) -> None:
    found = comparison.comparison(*compared)
    assert found is not None
    rows = found.moves.rows(0, 100)
    moved = {r["name"]: (r["dimension"], r["before"], r["after"]) for r in rows}
    assert moved == pairs.MOVED
    assert len(rows) == len(moved)
    text = client.get(address(compared)).content.decode()
    assert "1 of the 3 subdomains" in text  # that use a cloud in both, in a region
    assert "no answer" in text
    assert "not found" in text


def test_the_population_is_what_both_asked(compared: tuple[Any, Any]) -> None:
    found = comparison.comparison(*compared)
    assert found is not None
    counts = found.population
    assert (counts["domains_before"], counts["domains_after"], counts["domains_both"]) == (3, 3, 2)
    # www.new.com is in a cloud, but nobody asked new.com before.
    assert counts["names_after"] == counts["names_both"] + 3
    whole = {d: s["names"] for d, s in found.sums.items()}
    assert whole["providers"] == counts["names_compared"] == 8
    for dimension, flows in found.flows.items():
        sums = found.sums.get(dimension, {"changed": 0})
        assert sum(f["names"] for f in flows) == sums["changed"], dimension
        for member in found.members[dimension]:
            change = member["after"] - member["before"]
            assert change == member["won"] - member["lost"], member


def test_without_workers_the_tables_are_there_and_the_reason(
    client: Client, pair: tuple[Any, Any]
) -> None:
    answer = client.get(address(pair))
    text = answer.content.decode()
    assert answer.status_code == 202
    assert "Every table of the study, side by side" in text
    assert "no worker can be reached" in text.lower()
    assert client.get(address(pair, "moves/?dimension=regions")).status_code == 302
    assert client.post(address(pair)).status_code == 302


def test_progress_is_told_and_ends(client: Client, pair: tuple[Any, Any]) -> None:
    place = derived.comparison_of(*pair)
    place.write_progress(derived.RUNNING, "comparing names", 2, 3)
    answer = client.get(address(pair, "progress/"))
    assert "Comparing names, step 3 of 3" in answer.content.decode()
    assert "HX-Refresh" not in answer
    survey_derived.compare_surveys(*pair)
    assert client.get(address(pair, "progress/"))["HX-Refresh"] == "true"


def test_a_comparison_that_breaks_says_why_and_leaves_nothing(pair: tuple[Any, Any]) -> None:
    place = derived.comparison_of(*pair)

    def fill() -> None:
        with place.build() as folder:
            (folder / "half").write_text("x")
            raise ValueError("the disk is full")

    with pytest.raises(ValueError, match="the disk is full"):
        fill()
    assert not place.is_ready
    assert place.state()["error"] == "the disk is full"
    assert [p.name for p in place.folder.parent.iterdir()] == [f"{place.folder.name}.json"]


def test_every_table_differs_by_what_changed(client: Client, pair: tuple[Any, Any]) -> None:
    base = f"/api/v1{address(pair)}tables/regions"
    found = client.get(f"{base}.json").json()
    rows = [dict(zip(found["columns"], cells, strict=True)) for cells in found["rows"]]
    east = next(r for r in rows if r["region"] == "us-east-1")
    assert east["subdomains_change"] == east["subdomains_after"] - east["subdomains_before"]
    assert east["subdomains_after"] == int(east["subdomains_before"] * 0.9)
    assert (found["n_before"], found["n_after"]) == (713_910, 642_519)
    lines = list(csv.reader(io.StringIO(client.get(f"{base}.csv").content.decode())))
    assert lines[0] == found["columns"]
    assert len(lines) - 1 == len(found["rows"])
    page = client.get(address(pair, "tables/regions/")).content.decode()
    assert "us-east-1" in page
    assert "713,910" in page


def test_the_api_and_the_page_name_the_same_names(client: Client, compared: Any) -> None:
    base = f"/api/v1{address(compared)}"
    document = client.get(base.rstrip("/")).json()
    assert document["status"] == "ready"
    flow = document["flows"]["regions"][0]
    query = {"dimension": "regions", "before": flow["before"], "after": flow["after"]}
    rows = client.get(f"{base}moves.json", query).json()["rows"]
    assert [row[-1] for row in rows] == ["api.linkedin.com"]
    page = client.get(address(compared, "moves/"), query).content.decode()
    assert "api.linkedin.com" in page
    text = client.get(f"{base}moves.csv", {"dimension": "providers"}).content.decode()
    assert len(text.splitlines()) == 1 + 4


@pytest.mark.parametrize("query", ["dimension=weather", "dimension=regions&before=x&after=y"])
def test_unknown_moves_are_not_there(client: Client, compared: Any, query: str) -> None:
    assert client.get(address(compared, f"moves/?{query}")).status_code == 404
    answer = client.get(f"/api/v1{address(compared)}moves.json?{query}")
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")


def test_only_two_ended_surveys_can_be_compared(client: Client, pair: tuple[Any, Any]) -> None:
    slug, running = pair[0].slug, cast.running().slug
    assert client.get(f"/compare/{slug}/{slug}/").status_code == 404
    assert client.get(f"/compare/{slug}/{running}/").status_code == 404
    assert client.get(f"/api/v1/compare/{slug}/nobody").status_code == 404


def test_the_choice_leads_to_the_comparison(client: Client, pair: tuple[Any, Any]) -> None:
    before, after = pair[0].slug, pair[1].slug
    # The newest survey is of another list than these two.
    cast.edges()
    Survey.objects.exclude(slug__in=(before, after)).update(list_sha256="5" * 64)
    chosen = re.findall(r'value="([^"]+)" selected', client.get("/compare/").content.decode())
    assert sorted(chosen) == sorted([before, after])
    answer = client.get("/compare/", {"before": before, "after": after})
    assert answer["Location"] == address(pair)
    same = client.get("/compare/", {"before": after, "after": after}).content.decode()
    assert "the same survey" in same
