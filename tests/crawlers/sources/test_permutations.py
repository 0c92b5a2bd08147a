import re

from hypothesis import given, settings
from hypothesis import strategies as st

from core.statuses import Technique
from crawlers.sources.base import Zone
from crawlers.sources.permutations.generate import PermutationConfig, Permutations
from tests.examples import examples

DOMAIN = "alder.test"
ALL = PermutationConfig(budget=100_000, per_name=100_000)
NAME = re.compile(r"([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z]+")


def zone(*labels, domain=DOMAIN):
    return Zone(domain, (), (domain, *(f"{label}.{domain}" for label in labels)))


def alter(*labels, config=ALL):
    (harvest,) = Permutations(config).harvest([zone(*labels)], None)
    assert harvest.status == "OK"
    assert not harvest.queries
    return [name.removesuffix("." + DOMAIN) for name in harvest.names]


def test_a_label_is_numbered_and_given_environments_and_regions():
    made = set(alter("api"))
    assert made >= {"api-1", "api-2", "api1", "api2", "api01"}
    assert made >= {"staging.api", "api.staging", "api-staging", "staging-api"}
    for word in ("dev", "test", "uat", "qa", "prod", "us", "eu", "east", "us-east-1"):
        assert made >= {f"api-{word}", f"{word}-api", f"{word}.api", word}


def test_a_series_is_filled_and_continued_as_it_is_written():
    made = alter("web03", "web06", "db-9-a")
    assert made[:2] == ["web04", "web05"], "gaps are likeliest"
    assert set(made[:30]) >= {"web01", "web02", "web07", "web08", "db-10-a", "db-8-a"}
    assert not {"web1", "web001", "web4"} & set(made)


def test_words_of_a_zone_are_joined_and_swapped():
    made = set(alter("api", "admin", "pay-staging", "eu.shop", "app.us.shop"))
    assert made >= {"api-admin", "admin-api", "apiadmin", "pay-prod", "pay", "us.shop"}
    assert "app.eu.shop" in made
    assert "pay-staging-dev" not in made, "one environment is enough"


def test_what_stands_below_one_name_is_tried_below_the_others():
    made = alter("web.eu", "api.eu", "web.us", config=PermutationConfig(40, 40))
    assert "api.us" in made


def test_the_budget_is_kept_and_follows_what_was_found():
    many = tuple(f"label{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(400))
    assert len(alter(*many, config=PermutationConfig())) == 500
    assert len(alter("www", "api", config=PermutationConfig())) == 80
    assert alter(config=PermutationConfig()) == []
    assert alter("www", config=PermutationConfig(budget=0)) == []


def test_no_kind_takes_the_whole_budget():
    many = tuple(f"web{i:02}" for i in range(1, 40, 2)) + tuple("abcdefgh")
    made = alter(*many, config=PermutationConfig(40, 40))
    assert len([m for m in made if m.startswith("web")]) < 40
    assert made[0] == "web02"


def test_what_a_survey_finds_moves_to_the_front():
    def place(source, name):
        (harvest,) = source.harvest([zone("api", "shop", domain="late.test")], None)
        return harvest.names.index(name)

    fresh, taught = Permutations(ALL), Permutations(ALL)
    for i in range(40):
        early = zone("mail", domain=f"early{i}.test")
        (harvest,) = taught.harvest([early], None)
        assert f"ap-mail.early{i}.test" in harvest.names
        taught.learn(early.domain, [f"ap-mail.early{i}.test"])
    assert place(taught, "ap-api.late.test") < 4 < place(fresh, "ap-api.late.test")


def test_words_that_several_zones_combine_are_tried_in_the_others():
    zones = [zone("www-canary", domain=f"a{i}.test") for i in range(3)] + [zone("api")]
    last = list(Permutations(ALL).harvest(zones, None))[-1]
    assert "api-canary.alder.test" in last.names
    assert not any("canary" in m for m in alter("api"))


def test_a_lesson_about_an_unknown_zone_or_name_changes_nothing():
    source = Permutations(ALL)
    source.learn("never.test", ["www.never.test"])
    list(source.harvest([zone("api")], None))
    source.learn(DOMAIN, ["other.test"])
    assert sum(source.yields.found.values()) == 0
    assert sum(source.yields.asked.values()) > 0


LABEL = st.from_regex(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", fullmatch=True)
FOUND = st.lists(st.lists(LABEL, min_size=1, max_size=3).map(".".join), max_size=12)


@settings(max_examples=examples(60), deadline=None)
@given(FOUND, st.integers(0, 2000), st.integers(0, 200))
def test_any_zone_gets_new_valid_names_within_its_budget(labels, budget, per_name):
    config = PermutationConfig(budget, per_name)
    zones = [zone(*labels), zone("api", "web1", domain="birch.test")]
    first = list(Permutations(config).harvest(zones, None))
    again = list(Permutations(config).harvest(zones, None))
    assert first == again
    for given_zone, harvest in zip(zones, first, strict=True):
        names = harvest.names
        below = {n for n in given_zone.found if n != given_zone.domain}
        assert len(names) <= min(budget, per_name * len(below))
        assert len(set(names)) == len(names)
        assert not set(names) & set(given_zone.found)
        for name in names:
            assert NAME.fullmatch(name), name
            assert len(name) <= 253
            assert name.endswith("." + given_zone.domain)


def test_the_source_says_what_it_is():
    source = Permutations()
    assert (source.technique, source.is_zone_data) == (Technique.PERMUTATION, False)
