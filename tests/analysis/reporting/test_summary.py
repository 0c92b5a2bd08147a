"""Counts of a whole survey, and the rows behind names.csv."""

from analysis.reporting.summary import names_rows, summarise
from tests.analysis.deployment.world_cast import DEAD, SURVEY, Domain, virginia, vm, write_lake


def test_it_works(cast_root):
    assert summarise(cast_root, SURVEY) == {
        "names": {
            "asked": 55,
            "resolved": 18,
            "cloud": 13,
            "failed": {"SERVFAIL": 1, "SKIPPED": 20, "TIMEOUT": 3},
        },
        "domains": {"asked": 5, "cloud": 3, "wildcard": 1, "transferred": 0},
        "queries": 65,
        "wildcard_filtered": 2,
        "techniques": {"listed": 4, "wordlist": 14},
        "misses": {"nxdomain": 10, "nodata": 1, "wildcard": 2},
    }


def test_every_name_asked_for_is_accounted_for(cast_root):
    found = summarise(cast_root, SURVEY)
    names = found["names"]
    failed = sum(names["failed"].values())
    assert names["asked"] == names["resolved"] + sum(found["misses"].values()) + failed
    assert sum(found["techniques"].values()) == names["resolved"]


def test_failures_alone_are_counted_not_dropped(tmp_path):
    found = summarise(write_lake(tmp_path, [DEAD]), SURVEY)
    assert found["names"] == {
        "asked": 21,
        "resolved": 0,
        "cloud": 0,
        "failed": {"SERVFAIL": 1, "SKIPPED": 20},
    }


def test_an_empty_survey_is_all_zero(tmp_path):
    found = summarise(tmp_path, SURVEY)
    assert found["names"] == {"asked": 0, "resolved": 0, "cloud": 0, "failed": {}}
    assert found["domains"] == {"asked": 0, "cloud": 0, "wildcard": 0, "transferred": 0}
    assert list(names_rows(tmp_path, SURVEY)) == []


def test_a_transferred_zone_is_counted(tmp_path):
    domain = Domain("d.example", 1, (vm("d.example", virginia(1)),), transfer="OK")
    assert summarise(write_lake(tmp_path, [domain]), SURVEY)["domains"]["transferred"] == 1


def test_names_rows_join_several_values_sorted(cast_root):
    rows = {row[0]: row[1:] for row in names_rows(cast_root, SURVEY)}
    assert rows["m.blog.example"] == (
        "blog.example",
        "aws + azure",
        "aws|azure",
        "cs|vm",
        "northcentralus|us-east-1",
        "",
    )
    assert rows["img.shop.example"] == ("shop.example", "aws only", "aws", "cloudfront", "", "")
    assert rows["x.news.example"][3] == ""
    assert "mail.shop.example" not in rows


def test_names_rows_stand_in_order(cast_root):
    rows = [row[1::-1] for row in names_rows(cast_root, SURVEY)]
    assert len(rows) == 13
    assert rows == sorted(rows)


def test_more_names_than_one_batch(tmp_path):
    names = tuple(vm(f"n{i}.d.example", virginia(i % 250)) for i in range(5_200))
    root = write_lake(tmp_path, [Domain("d.example", 1, names)])
    assert len(list(names_rows(root, SURVEY))) == 5_200


def test_a_reader_that_stops_early_leaves_nothing_open(cast_root):
    rows = names_rows(cast_root, SURVEY)
    assert next(rows)[0] == "a.blog.example"
    rows.close()
