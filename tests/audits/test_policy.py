"""Policies: presets, closed documents, errors that name field and line, suppressions."""

import contextlib
import json
import tomllib
from datetime import date

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.findings import Severity, fingerprint_of
from audits.policy.loading import load_preset, parse_policy, preset_names
from audits.policy.model import Suppression, json_schema
from audits.rules.registry import RULES
from core.errors import BadInput
from core.paths import FIXTURES

HEAD = 'version = 1\nname = "p"\n'
SUPPRESSION = """
[[suppressions]]
rule = "wildcard"
subject = "*.shop.example"
reason = "intended"
owner = "dns team"
expires = 2026-12-31
"""


@pytest.mark.parametrize("name", preset_names())
def test_presets_are_valid_and_match_the_schema(name):
    policy = load_preset(name)
    assert policy.name == name
    assert len(policy.digest) == 64
    text = (FIXTURES / "audits" / "policies" / f"{name}.toml").read_text()
    # Dates of TOML are texts in JSON.
    document = json.loads(json.dumps(tomllib.loads(text), default=str))
    jsonschema_rs.validate(json_schema(), document)


def test_the_schema_describes_every_rule():
    schema = json_schema()
    assert jsonschema_rs.meta.is_valid(schema)
    assert set(schema["properties"]["rules"]["properties"]) == set(RULES)


def test_json_and_toml_are_the_same_policy():
    toml = parse_policy((HEAD + "[rules.single-provider]\nmax_share = 0.5\n").encode())
    document = {"version": 1, "name": "p", "rules": {"single-provider": {"max_share": 0.5}}}
    again = parse_policy(json.dumps(document).encode())
    assert toml.rules == again.rules
    assert toml.rules["single-provider"].severity == Severity.HIGH


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (HEAD + "[rules.single-regoin]\n", 3, "single-region"),
        (HEAD + "[rules.single-provider]\nmax_share = 2\n", 4, "less than or equal to 1"),
        (HEAD + "[rules.single-provider]\nmax_shares = 0.2\n", 4, "not a known setting"),
        (HEAD + '[rules.wildcard]\nseverity = "urgent"\n', 4, "critical, high"),
        (HEAD + "[rules.wildcard]\n[data]\nmax_age_days = 0\n", 5, "greater than 0"),
        (HEAD + "[rules.wildcard]\n[date]\n", 4, "not a known setting"),
        (HEAD + "[rules]\n", 3, "at least one rule"),
        (HEAD + "[rules.wildcard\n", 3, "not TOML"),
        ('version = 2\nname = "p"\n[rules.wildcard]\n', 1, "1"),
        ("version = 1\n[rules.wildcard]\n", None, "name"),
        (
            HEAD + "[rules.wildcard]\n" + SUPPRESSION.replace('reason = "intended"\n', ""),
            5,
            "reason",
        ),
        (
            HEAD + "[rules.wildcard]\n" + SUPPRESSION.replace('"wildcard"', '"wildcart"'),
            6,
            "no rule",
        ),
        (HEAD + "[rules.wildcard]\n" + SUPPRESSION + 'owners = "x"\n', 11, "not a known setting"),
        ('{"version": 1,\n"name": }', 2, "not JSON"),
    ],
)
def test_errors_name_the_line_and_what_is_wrong(text, line, words):
    with pytest.raises(BadInput) as error:
        parse_policy(text.encode())
    assert words in str(error.value)
    if line is not None:
        assert error.value.line == line, str(error.value)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_policy_or_one_clear_error(data):
    with pytest.raises(BadInput) as error:
        parse_policy(data)
    assert str(error.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["version", "name", "rules", "wildcard", "data", "suppressions", "x"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_a_policy_or_one_clear_error(document):
    with contextlib.suppress(BadInput):
        parse_policy(json.dumps(document).encode())


def test_a_large_or_deep_document_is_refused():
    with pytest.raises(BadInput, match="at most"):
        parse_policy(b"#" * 1_000_001)
    with pytest.raises(BadInput):
        parse_policy(b"{" + b'"a":[' * 50_000)


def suppression(**more):
    fields = {
        "rule": "wildcard",
        "subject": "ci-logs.example",
        "reason": "intended",
        "owner": "dns",
        "expires": date(2026, 12, 31),
    }
    return Suppression(**fields | more)


def test_a_suppression_matches_the_whole_subject():
    assert suppression().covers("wildcard", "ci-logs.example", "")
    assert not suppression().covers("wildcard", "ci-logs.example.org", "")
    assert not suppression().covers("no-caa", "ci-logs.example", "")
    assert suppression(subject="*.example").covers("wildcard", "ci-logs.example", "")
    assert not suppression(subject="*.example").covers("wildcard", "ci-logs.example.org", "")


def test_a_fingerprint_limits_a_suppression_to_one_finding():
    one = suppression(fingerprint=fingerprint_of("wildcard", "ci-logs.example", "a"))
    assert one.covers("wildcard", "ci-logs.example", "a")
    assert not one.covers("wildcard", "ci-logs.example", "b")
