import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from crawlers.wordlist import default_wordlist
from testbed.apportion import apportion, split_heavy
from testbed.rangefiles import aws_json, azure_xml
from testbed.truth import truth
from testbed.worlds import Making, build_world, load_world

WORDS = default_wordlist()


def make(scale=Fraction(1, 100), **more):
    return build_world(load_world("imc2013"), Making(scale=scale, labels=WORDS, **more))


@pytest.fixture(scope="module")
def world():
    return make()


@pytest.fixture(scope="module")
def tables(world):
    return truth(world, WORDS)["tables"]


def test_the_same_arguments_give_the_same_world(world):
    again = make()
    assert [z.domain for z in again.zones] == [z.domain for z in world.zones]
    assert [n for z in again.zones for n in z.names] == [n for z in world.zones for n in z.names]
    assert [z.domain for z in make(seed=2).zones] != [z.domain for z in world.zones]


def test_classes_are_the_published_shares(tables):
    rows = {r[0]: r for r in tables["providers"]["rows"]}
    assert rows["total"][1] == 403
    assert rows["total"][3] == pytest.approx(7139, abs=3)
    for name, share in {"aws only": 0.9605, "aws + other": 0.0303, "azure only": 0.0089}.items():
        assert rows[name][4] == pytest.approx(share, abs=0.001)
    for name, share in {"aws only": 0.081, "aws + other": 0.861, "aws + azure": 0.007}.items():
        assert rows[name][2] == pytest.approx(share, abs=0.003)


def test_regions_and_features_are_the_published_shares(tables):
    regions = {r[1]: r[4] for r in tables["regions"]["rows"]}
    assert regions["us-east-1"] == pytest.approx(0.7375, abs=0.005)
    assert regions["eu-west-1"] == pytest.approx(0.1645, abs=0.005)
    features = {(r[0], r[1]): r for r in tables["patterns"]["rows"]}
    assert features["aws", "vm"][5] == pytest.approx(0.715, abs=0.005)
    assert features["aws", "elb"][3] == pytest.approx(0.259, abs=0.02)
    counts = {(r[0], r[1]): r[3] for r in tables["region-counts"]["rows"]}
    assert counts["aws", 1] == pytest.approx(0.970, abs=0.002)


def test_hidden_names_are_the_miss(world):
    found = truth(world, WORDS)["names"]
    hidden = sum(n.hidden for z in world.zones for n in z.names)
    assert hidden > 200
    assert found["missed"] == {"label not in word list": hidden}
    assert found["all_cloud"] - found["cloud"] == hidden


def test_without_transfers_more_is_missed(world):
    assert truth(world, WORDS, axfr=False)["names"]["cloud"] < truth(world, WORDS)["names"]["cloud"]


def test_a_world_on_given_domains_and_ranges():
    domains = tuple(f"site{i}.example" for i in range(200))
    blocks = {
        ("aws", "us-east-1", "compute"): ["192.0.2.0/24"],
        ("aws", "", "edge"): ["198.51.100.0/24"],
        ("azure", "westeurope", "compute"): ["203.0.113.0/24"],
    }
    world = make(domains=domains, blocks=blocks)
    assert [z.domain for z in world.zones] == list(domains)
    assert {t.prefix for t in world.truth.values()} <= {p for ps in blocks.values() for p in ps}
    assert any("has no prefix" in note for note in world.notes)


def test_range_files_are_in_the_providers_formats(world):
    assert aws_json(world).count("EC2") == aws_json(world).count("AMAZON") - 1
    assert '<Region Name="europewest">' in azure_xml(world)


def test_wildcards_and_faults_are_in_it(world):
    kinds = Counter(z.wildcard for z in world.zones if z.wildcard)
    assert set(kinds) == {"static", "rotating", "cname", "second"}
    assert {z.fault for z in world.zones} == {"", "silent", "servfail"}
    assert {z.transfer for z in world.zones} == {"allowed", "refused", "cut"}


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(2)])
def test_scales_out_of_range_are_refused(scale):
    with pytest.raises(BadInput, match="scale"):
        make(scale=scale)


def test_an_unknown_world_is_refused_with_the_known_ones():
    with pytest.raises(BadInput, match="imc2013"):
        load_world("atlantis")


@given(st.integers(0, 10**6), st.lists(st.integers(0, 1000), min_size=1, max_size=20))
def test_apportionment_sums_and_stays_within_one(total, weights):
    parts = apportion(total, weights)
    whole = sum(weights)
    assert sum(parts) == (total if whole else 0)
    if whole:
        assert all(abs(p - total * w / whole) < 1 for p, w in zip(parts, weights, strict=True))


@given(st.integers(1, 5000), st.integers(1, 50), st.integers(0, 2**32))
def test_heavy_splits_sum_and_have_no_empty_part(total, parts, seed):
    rng = random.Random(seed)
    if total < parts:
        with pytest.raises(ValueError, match="cannot split"):
            split_heavy(total, parts, rng)
        return
    sizes = split_heavy(total, parts, rng)
    assert sum(sizes) == total
    assert min(sizes) >= 1
