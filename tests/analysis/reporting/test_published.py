"""The figures of 2013: they load in our columns and add up as far as their source does."""

import pytest

from analysis.reporting.published import published, published_source
from core.report_tables import SPECS, share
from tests.analysis.conftest import by_key, cells


def test_it_works():
    rows = by_key(published("providers"), "class")
    assert rows["total"]["domains"] == 40_333
    assert rows["total"]["subdomains"] == 713_910
    assert rows["azure only"]["domains_cloud_only"] is None


# The study publishes no figure of the others, our own questions.
PUBLISHED = [spec for spec in SPECS if published(spec.id)]


def test_no_published_table_is_lost():
    assert len(PUBLISHED) == 18


@pytest.mark.parametrize("spec", PUBLISHED, ids=lambda spec: spec.id)
def test_every_table_has_its_columns_and_source(spec):
    table = published(spec.id)
    assert table.id == spec.id
    assert table.columns == spec.columns
    assert table.n > 0
    assert all(len(row) == len(spec.columns) for row in table.rows)
    assert all(cell != "" for row in table.rows for cell in row)
    assert published_source(spec.id).startswith("IMC'13, ")


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_a_table_that_was_never_published_has_no_source(spec):
    assert bool(published_source(spec.id)) == (spec in PUBLISHED)


def test_zones_sum_to_the_uses_of_the_curve():
    uses = sum(n for (n,) in cells(published("zone-usage"), "subdomains"))
    assert uses == 1_290_000
    steps = [below for (below,) in cells(published("zone-counts"), "cumulative_share")]
    mean = 1 + sum(1 - below for below in steps)
    assert uses / mean == pytest.approx(published("zone-counts").n, rel=0.01)


def test_the_skew_of_zones_is_that_of_the_text():
    rows = {row[1:3]: row[4] for row in published("zone-usage").rows}
    assert 1 - rows["us-east-1", "b"] / rows["us-east-1", "a"] == pytest.approx(0.63, abs=0.005)
    assert 1 - rows["ap-northeast-1", "a"] / rows["ap-northeast-1", "c"] == pytest.approx(
        0.71, abs=0.005
    )


def test_the_top_zones_add_up():
    columns = ("domain", "aws_subdomains", "z1", "z2", "z3_or_more")
    wrong = [d for d, n, a, b, c in cells(published("top-zones"), *columns) if n != a + b + c]
    assert wrong == []


def test_customers_in_another_country_are_shares_of_the_known():
    row = by_key(published("customers"), "basis")["all"]
    assert row["known"] / row["subdomains"] == pytest.approx(row["known_share"], abs=0.005)
    assert row["other_country"] / row["known"] == pytest.approx(0.47, abs=0.005)
    assert row["other_continent"] / row["known"] == pytest.approx(0.32, abs=0.005)


def test_provider_classes_sum_to_the_totals():
    rows = by_key(published("providers"), "class")
    classes = [r for name, r in rows.items() if not name.endswith("total")]
    assert sum(r["domains"] for r in classes) == 40_333
    assert sum(r["subdomains"] for r in classes) == 713_910
    aws = [r for r in classes if "aws" in r["class"]]
    assert sum(r["domains"] for r in aws) == rows["aws total"]["domains"] == 38_291
    assert sum(r["domains_cloud_only"] for r in aws) == 38_291
    for row in rows.values():
        assert row["subdomains_share"] == share(row["subdomains"], 713_910)
        assert row["domains_share"] == share(row["domains"], 40_333)


def test_region_uses_give_the_mean_of_the_curve():
    uses = {"aws": 0, "azure": 0}
    for provider, n in cells(published("regions"), "provider", "subdomains"):
        uses[provider] += n
    assert uses == {"aws": 747_486, "azure": 8_260}
    curve = {"aws": [], "azure": []}
    for provider, below in cells(published("region-counts"), "provider", "cumulative_share"):
        curve[provider].append(below)
    # A mean is the sum of what lies above each step of the curve.
    means = {p: 1 + sum(1 - below for below in steps) for p, steps in curve.items()}
    assert means["aws"] == pytest.approx(747_486 / 707_357, abs=0.005)
    assert means["azure"] == pytest.approx(8_260 / 6_557, abs=0.02)


def test_domains_of_regions_exceed_their_number():
    sums = {"aws": 0, "azure": 0}
    for provider, n in cells(published("regions"), "provider", "domains"):
        sums[provider] += n
    assert sums == {"aws": 43_015, "azure": 3_940}


def test_features_lie_within_their_totals():
    rows = {row[:2]: row for row in published("patterns").rows}
    paas = rows["aws", "heroku"][4] + rows["aws", "heroku-elb"][4] + rows["aws", "beanstalk"][4]
    assert paas == 60_271  # printed as 60,273
    assert rows["aws", "heroku-elb"][4] + rows["aws", "beanstalk"][4] < rows["aws", "elb"][4]
    assert rows["aws", "vm"][5] == share(505_578, 707_357)


def test_name_servers_sum_to_their_total():
    rows = dict(cells(published("name-servers"), "location", "name_servers"))
    total = rows.pop("total")
    assert sum(rows.values()) == total == 23_111


@pytest.mark.parametrize(
    ("table_id", "group"),
    [
        ("region-counts", "provider"),
        ("instance-counts", "feature"),
        ("name-server-counts", ""),
        ("zone-counts", "provider"),
        ("domain-zone-means", "provider"),
    ],
)
def test_curves_never_fall(table_id, group):
    table = published(table_id)
    curves = {}
    for row in (dict(zip(table.columns, r, strict=True)) for r in table.rows):
        curves.setdefault(row[group] if group else "", []).append(row["cumulative_share"])
    assert all(curve == sorted(curve) and curve[-1] <= 1 for curve in curves.values())


def test_the_top_tables_speak_of_the_same_domains():
    keys = ("rank", "domain", "aws_subdomains")
    assert cells(published("top-domains"), *keys) == cells(published("top-features"), *keys)
    listed = {d for (d,) in cells(published("top-domains"), "domain")}
    wide = {d for (d,) in cells(published("top-regions"), "domain")}
    assert listed - wide == {"conduit.com"}


def test_top_region_rows_add_up():
    columns = ("cloud_subdomains", "k1", "k2", "k3_or_more")
    assert all(n == a + b + c for n, a, b, c in cells(published("top-regions"), *columns))
