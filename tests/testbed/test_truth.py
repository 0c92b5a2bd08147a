from fractions import Fraction

import pytest

from core.report_tables import SPECS
from testbed.truth.counting import hidden_reason, table_rows, truth
from testbed.truth.tables import TABLES
from testbed.truth.zones import SHARING_TABLES, ZONE_TABLES
from testbed.world.model import ALLOW
from testbed.worlds.loading import build_world, read_labels
from tests.testbed.shared_worlds import hundredth, tiny

LABELS = read_labels()


def test_it_works():
    found = truth(tiny(), LABELS)
    assert found["world"] == "tiny@1/1#1"
    assert found["names"] == {
        "findable": 43,
        "cloud": 30,
        "hidden": {
            "every query to the zone fails": 2,
            "no server answers for the zone": 1,
            "not in the word list": 1,
        },
        "all_cloud": 34,
    }


@pytest.mark.parametrize("world", [tiny, hundredth])
def test_every_table_has_its_columns_and_sums(world):
    found = truth(world(), LABELS)
    counted = found["tables"] | found["tables_zoned"]
    # What rests on operators, customers or outages is recounted in the tests of the analysis.
    assert set(counted) == set(TABLES) | set(SHARING_TABLES) | set(ZONE_TABLES)
    for spec in (s for s in SPECS if s.id in counted):
        table = counted[spec.id]
        assert tuple(table["columns"]) == spec.columns
        assert all(len(row) == len(spec.columns) for row in table["rows"])
    rows = {r["class"]: r for r in table_rows(found, "providers")}
    single = [r for c, r in rows.items() if "total" not in c]
    for column in ("domains", "subdomains", "domains_cloud_only"):
        assert sum(r[column] for r in single) == rows["total"][column]
        aws = sum(r[column] for c, r in rows.items() if "aws" in c and "total" not in c)
        assert rows["aws total"][column] == aws
    assert rows["total"]["subdomains"] == found["names"]["cloud"]


def test_figures_end_at_one():
    found = truth(hundredth(), LABELS)
    for table, key in (
        ("region-counts", "provider"),
        ("instance-counts", "feature"),
        ("domain-region-means", "provider"),
    ):
        last = {row[key]: row["cumulative_share"] for row in table_rows(found, table)}
        assert set(last.values()) == {1.0}
    uses = sum(r["subdomains"] for r in table_rows(found, "regions"))
    counted = sum(r["regions"] * r["subdomains"] for r in table_rows(found, "region-counts"))
    assert uses == counted


def test_what_a_crawl_misses_is_named():
    found = truth(hundredth(), LABELS)
    names = found["names"]
    assert names["cloud"] + sum(names["hidden"].values()) == names["all_cloud"]
    assert names["hidden"]["not in the word list"] == round(7137 * 0.04)
    without = truth(hundredth(), LABELS, axfr=False)["names"]
    assert without["cloud"] < names["cloud"]
    nothing = truth(hundredth(), (), axfr=False)["names"]
    # Only the listed domains themselves are left.
    assert nothing["findable"] <= len(hundredth().zones)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_transfer_shows_names_that_no_word_list_has(seed):
    """3 % of the labels in transferable zones at any seed, and more where zones are large."""
    world = build_world("imc2013", scale=Fraction(1, 300), seed=seed)
    words = frozenset(read_labels(common=None))
    open_ones = [(z, n) for z, n in world.names() if z.transfer == ALLOW and n.fqdn != z.domain]
    unlisted = [n for z, n in open_ones if hidden_reason(z, n, words, axfr=False)]
    assert 0.025 <= len(unlisted) / len(open_ones) <= 0.1
    assert not any(hidden_reason(z, n, words, axfr=True) for z, n in open_ones)
    assert any(world.place(a).provider for n in unlisted for a in n.addresses)


def test_all_names_are_counted_separately_from_findable_names():
    found = truth(tiny(), LABELS)
    everything = {r[0]: r[3] for r in found["tables_all"]["providers"]["rows"]}
    assert everything["total"] == found["names"]["all_cloud"]
    assert set(found["tables_all"]) == {"providers", "patterns", "regions"}


def test_labels_of_the_tiny_world():
    rows = {(r["provider"], r["feature"]): r for r in table_rows(truth(tiny(), LABELS), "patterns")}
    assert rows["aws", "elb"]["subdomains"] == 5
    assert rows["aws", "elb"]["instances"] == 2 + 1 + 1 + 90
    assert rows["aws", "beanstalk"]["subdomains"] == 1
    assert rows["aws", "heroku"]["subdomains"] == 1
    assert rows["aws", "heroku-elb"]["subdomains"] == 1
    assert rows["aws", "cloudfront"]["instances"] == 2
    assert rows["azure", "tm"]["instances"] == 1
    assert rows["google", "vm"]["subdomains"] == 2
    assert rows["aws", "unclassified"]["instances"] is None


def test_another_seed_has_the_same_published_counts():
    one = truth(build_world("imc2013", scale=Fraction(1, 300), seed=5), LABELS)
    other = truth(build_world("imc2013", scale=Fraction(1, 300), seed=6), LABELS)
    column = [r["subdomains"] for r in table_rows(one, "providers")]
    assert column == [r["subdomains"] for r in table_rows(other, "providers")]
