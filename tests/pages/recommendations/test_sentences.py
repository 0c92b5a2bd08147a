"""Headlines of recommendations claim no more than their interval allows."""

import pytest

from webapp.pages.recommendations.sentences import Asked, headline

NINE = [f"r{n}" for n in range(9)]


def told(k, value, interval, now, here, **about):
    chosen = {"k": k, "value": value, "interval": interval, "regions": [f"s{n}" for n in range(k)]}
    return headline(chosen, {"regions": NINE[:now], "value": here}, Asked(k, "ms", **about))


@pytest.mark.parametrize(
    ("k", "now", "modelled", "words"),
    [
        (
            4,
            9,
            True,
            "You could run four regions instead of nine at about the same latency (modelled)",
        ),
        (1, 2, False, "You could run one region instead of two at about the same latency"),
        (4, 4, False, "Four regions give your clients about the same latency as the four you have"),
        (
            5,
            4,
            True,
            "Five regions give your clients about the same latency (modelled) as the four you have",
        ),
    ],
)
def test_an_interval_that_holds_the_present_value_is_no_gain(k, now, modelled, words):
    assert told(k, 28.2, (25.2, 32.0), now, 30.6, is_modelled=modelled) == words


def test_a_gain_beyond_the_interval_is_told_as_one():
    found = told(4, 28.2, (25.2, 29.9), 9, 30.6)
    assert found == "Four regions beat your nine: 28.2\u202fms instead of 30.6\u202fms"
    assert told(4, 20.0, (18.0, 22.0), 2, 40.0) == (
        "Four regions cut your clients’ round-trip time by 50.0\u202f%"
    )
    assert told(2, 50.0, (45.0, 55.0), 4, 40.0) == (
        "Two regions cost your clients 25.0\u202f% more time than now"
    )


def test_without_an_interval_the_values_are_compared():
    assert told(4, 28.2, None, 9, 30.6).startswith("Four regions beat your nine")
