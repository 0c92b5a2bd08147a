"""One way to write figures, ages and names."""

from datetime import UTC, datetime, timedelta

import pytest

from webapp.pages.ui import formatting

T = formatting.THIN


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.972, f"97.2{T}%"),
        (0.000783, f"0.08{T}%"),
        (0.0000056, f"<0.01{T}%"),
        (0.9996, f">99.9{T}%"),
        (0, f"0{T}%"),
        (1.0, f"100.0{T}%"),
        (None, "–"),
    ],
)
def test_it_works(value: float | None, text: str) -> None:
    assert formatting.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1234567, "1,234,567"), (1.25, "1.25"), (2.0, "2"), (None, "–"), (0, "0")]
)
def test_counts(value: float | None, text: str) -> None:
    assert formatting.count(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, f"under 1{T}s"),
        (42, f"42{T}s"),
        (184, f"3{T}min 4{T}s"),
        (1500, f"25{T}min"),
        (7500, f"2{T}h 5{T}min"),
        (864000, "10 days"),
        (None, "–"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert formatting.duration(seconds) == text


def test_ages_name_the_largest_unit() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert formatting.age(now - timedelta(seconds=5), now) == "just now"
    assert formatting.age(now - timedelta(seconds=284), now) == f"4{T}min ago"
    assert formatting.age(now - timedelta(days=400), now) == "400 days ago"


def test_classes_are_said_as_people_say_them() -> None:
    assert formatting.class_name("aws + other") == "Amazon + other hosting"
    assert formatting.class_name("aws + azure") == "Amazon + Microsoft"
    assert formatting.class_name("total") == "All cloud-using"
    assert formatting.providers_in("azure total") == ["azure"]


def test_punycode_is_shown_in_its_own_script() -> None:
    assert formatting.unicode_name("xn--mgbh0fb.xn--kgbechtv") == "مثال.إختبار"
    assert formatting.unicode_name("example.org") == ""
    assert formatting.unicode_name("xn--\udcff.org") == ""


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("the list is empty", "The list is empty"),
        ("line 3: no number", "Line 3: no number"),
        ("samples.csv: line 3: no number", "samples.csv: line 3: no number"),
        ("us-east-1 is no region here", "us-east-1 is no region here"),
        ("a_list: line 1", "a_list: line 1"),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_and_a_name_with_its_own_letter(text, begun):
    assert formatting.capitalize_sentence(text) == begun


def test_a_bracket_behind_two_counts_says_a_percentage_of_many_only() -> None:
    assert formatting.bracket(0.25, 40) == f" (25.0{T}%)"
    assert formatting.bracket(0.25, 4) == formatting.bracket(None, 40) == ""


def test_shares_and_intervals_of_few_are_counts() -> None:
    assert formatting.share_of(0.1, 4) == "0.4 of 4"  # a mean over several draws
    assert formatting.span_of(0.1, 0.5, 4) == "0.4 to 2 of 4"
    assert formatting.span_of(0.1, 0.5, 40) == f"10.0{T}% to 50.0{T}%"
    assert formatting.span_of(0.1, 0.5, 0) == "no data"
