"""The world of wildcards: which zones have one, of which form, and what stands beside it."""

from collections import Counter
from fractions import Fraction

import pytest

from core.errors import BadInput
from testbed.server.answers import NOERROR, NXDOMAIN, Authority
from testbed.truth.counting import hidden_reason, truth
from testbed.worlds.loading import build_world, read_labels

WORDS = read_labels(common=None)


def test_it_works():
    world = build_world("wildcards", scale=Fraction(1, 4))
    assert len(world.zones) == 100
    assert truth(world, WORDS)["names"]["findable"] > 1000


def test_one_zone_in_twenty_has_a_wildcard_and_every_kind_is_there():
    world = build_world("wildcards")
    cards = [(zone, zone.wildcard) for zone in world.zones if zone.wildcard]
    assert len(cards) == len(world.zones) * 0.05
    kinds = Counter(card.kind for _, card in cards)
    assert min(kinds["static"], kinds["rotating"], kinds["cname"]) >= 4
    assert sum(card.at != zone.domain for zone, card in cards) >= 4


def test_names_can_be_guessed():
    world = build_world("wildcards")
    words = frozenset(WORDS)
    why = Counter(hidden_reason(zone, name, words, axfr=False) for zone, name in world.names())
    assert set(why) == {""}


def test_equal_seeds_build_equal_worlds():
    one, two, other = (build_world("wildcards", scale=Fraction(1, 20), seed=s) for s in (1, 1, 2))
    assert one.zones == two.zones
    assert one.zones != other.zones


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(2)])
def test_impossible_scales_are_refused(scale):
    with pytest.raises(BadInput, match="scale"):
        build_world("wildcards", scale=scale)


def test_wildcards_at_four_levels_and_with_an_alias_per_name():
    world = build_world("wildcard-levels")
    cards = [zone.wildcards for zone in world.zones if zone.wildcards]
    assert {len(found) for found in cards} == {1, 2, 3, 4}
    assert all(len({card.at for card in found}) == len(found) for found in cards)
    assert any(card.per_name for found in cards for card in found)


def test_a_wildcard_answers_at_its_level_and_blocks_itself():
    """RFC 4592 section 2.2.1."""
    world = build_world("wildcard-levels")
    zone = next(z for z in world.zones if len(z.wildcards) > 2 and z.wildcards[0].at == z.domain)
    answers = Authority(world)
    for card in zone.wildcards:
        assert answers.answer(f"q7x.{card.at}", "A").code == NOERROR
        assert answers.answer(f"q7x.q8x.{card.at}", "A").code == NOERROR
        assert answers.answer(f"q7x.*.{card.at}", "A").code == NXDOMAIN
        assert answers.answer(f"q7x.*.q8x.{card.at}", "A").code == NOERROR
    addresses = {
        frozenset(row[2] for row in answers.answer(f"q{n}.{card.at}", "A").answers)
        for card in zone.wildcards
        if card.per_name
        for n in range(5)
    }
    assert len(addresses) == 5 * sum(card.per_name for card in zone.wildcards)
