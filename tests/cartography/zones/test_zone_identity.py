"""Accounts that name the same zones differently."""

from cartography.zones.observations import Rules, Sample, ZoneId
from cartography.zones.zone_identity import merge_labels

ONE, TWO, THREE = "10.1.0.", "10.2.0.", "10.3.0."


def own(account, **labels):
    """Instances of an account: label=prefix, or a tuple of prefixes; five in each."""
    return [
        Sample("us-east-1", account, label, f"{prefix}{n + 10}")
        for label, prefixes in labels.items()
        for prefix in ([prefixes] if isinstance(prefixes, str) else prefixes)
        for n in range(5)
    ]


def merged(samples, zone_ids=(), rules=None):
    found = merge_labels(samples, list(zone_ids), rules or Rules())
    return {a.account: a for a in found}


BIG = [*own("big", a=ONE, b=TWO, c=THREE), *own("big", a="10.4.0.", b="10.5.0.")]


def test_it_works():
    found = merged([*BIG, *own("small", a=TWO, b=THREE, c=ONE)])

    assert found["big"].basis == "reference"
    assert found["small"].zones == {"a": "b", "b": "c", "c": "a"}
    assert found["small"].basis == "addresses"
    assert min(found["small"].margins.values()) > 3
    assert (found["small"].agreeing, found["small"].conflicting) == (75, 0)


def test_the_last_label_and_the_last_zone_belong_together():
    found = merged([*BIG, *own("small", a=TWO, b=THREE, c="10.9.0.")])

    assert found["small"].zones["c"] == "a"
    assert found["small"].eliminated == ("c",)


def test_two_labels_without_evidence_stay_open():
    found = merged([*BIG, *own("small", a=TWO, b="10.8.0.", c="10.9.0.")])

    assert found["small"].zones == {"a": "b"}
    assert found["small"].undetermined == ("b", "c")


def test_evidence_may_come_by_way_of_another_account():
    middle = own("middle", x=(ONE, "10.8.0."), y=(TWO, "10.9.0."), z=THREE)
    last = own("last", p="10.8.0.", q="10.9.0.")

    found = merged([*BIG, *middle, *last])
    assert found["last"].zones == {"p": "a", "q": "b"}


def test_a_zone_that_the_largest_account_lacks_has_a_name_of_its_own():
    found = merged([*BIG, *own("small", a=TWO, b=THREE, c=ONE, d="10.9.0.")])

    assert found["small"].zones["d"] == "small:d"


def test_some_wrong_labels_do_not_matter_and_are_counted():
    slip = [Sample("us-east-1", "small", "a", "10.1.0.77")]

    found = merged([*BIG, *own("small", a=TWO, b=THREE, c=ONE), *slip])
    assert found["small"].zones == {"a": "b", "b": "c", "c": "a"}
    assert found["small"].conflicting == 5
    assert found["small"].pairs_agree


def test_an_instance_that_is_listed_twice_counts_once():
    twice = merged([*BIG, *BIG, *own("small", a=TWO, b=THREE)])
    once = merged([*BIG, *own("small", a=TWO, b=THREE)])

    assert twice == once


def test_ids_are_the_names_where_they_are_known():
    ids = [ZoneId("us-east-1", "small", label, f"use1-az{n}") for n, label in enumerate("abc")]

    found = merged([*BIG, *own("small", a=TWO, b=THREE, c=ONE)], ids)
    assert found["small"].basis == "zone ids"
    assert found["big"].zones == {"a": "use1-az2", "b": "use1-az0", "c": "use1-az1"}


def test_an_id_for_one_label_holds_it_and_addresses_find_the_rest():
    every = [ZoneId("us-east-1", "big", label, f"use1-az{n}") for n, label in enumerate("abc")]
    one = ZoneId("us-east-1", "small", "a", "use1-az1")

    found = merged([*BIG, *own("small", a=TWO, b=THREE, c=ONE)], [*every, one])
    assert found["small"].zones == {"a": "use1-az1", "b": "use1-az2", "c": "use1-az0"}
    assert found["small"].basis == "addresses"


def test_uniform_labels_need_no_evidence():
    rules = Rules(uniform_regions=frozenset({"us-east-1"}))

    found = merged([*BIG, *own("small", a="10.9.0.")], rules=rules)
    assert found["small"].zones == {"a": "a"}
