"""What comes from agents is checked: hostile reports are refused by one clear error."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from core.paths import PROJECT
from screening.report.parsing import is_repetition, parse_report
from screening.report.schema import MOST_BYTES, print_schema

NOW = 1_795_300_000.0


def change(sample, **values):
    document = json.loads(sample)
    for path, value in values.items():
        place = document
        *parts, last = path.split("__")
        for part in parts:
            place = place[int(part) if part.isdigit() else part]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return json.dumps(document).encode()


def test_a_report_of_the_agent_is_accepted(sample):
    report = parse_report(sample, NOW)
    assert report.host.name == "sample-1"
    assert [cpu.cpu for cpu in report.cpus] == [0, 1]
    for cpu in report.cpus:
        assert sum(count for _, count in cpu.histogram) == cpu.wakeups
        assert len(cpu.stalls) == cpu.stalls_10ms


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"schema": "nephoscope.screening/2"}, "schema"),
        ({"schema": None}, "schema"),
        ({"report_id": "../../etc/passwd"}, "report_id"),
        ({"report_id": "A" * 32}, "report_id"),
        ({"unknown": 1}, "field"),
        ({"host__name": "<script>alert(1)</script>"}, "host.name"),
        ({"host__name": 'a" onload="x'}, "host.name"),
        ({"host__name": ""}, "host.name"),
        ({"host__name": "x" * 254}, "host.name"),
        ({"host__name": "a\nb"}, "host.name"),
        ({"host__name": "a\n"}, "host.name"),
        ({"host__kernel": "Linux \u202e gpj"}, "host.kernel"),
        ({"host__cpu_model": "<b>"}, "host.cpu_model"),
        ({"host__vcpus": True}, "host.vcpus"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": 10**9}, "seconds"),
        ({"started_at": NOW + 200_000}, "started_at"),
        ({"started_at": "now"}, "started_at"),
        ({"cpus": {}}, "cpus"),
        ({"cpus__0__wakeups": -5}, "cpus[0].wakeups"),
        ({"cpus__0__wakeups": 1.5}, "cpus[0].wakeups"),
        ({"cpus__0__stalls_10ms": 10**11}, "cpus[0].stalls_10ms"),
        ({"cpus__0__cpu": 1}, "cpus"),
        ({"cpus__0__histogram": [[5, -1]]}, "cpus[0].histogram[0]"),
        ({"cpus__0__histogram": [[5, 1], [4, 1]]}, "cpus[0].histogram"),
        ({"cpus__0__histogram": [[99999, 1]]}, "cpus[0].histogram"),
        ({"cpus__0__stalls": [[1, 2, 3]]}, "cpus[0].stalls[0]"),
        ({"cpus__0__p50_us": 1e9}, "cpus[0]"),
        ({"cpus__0__steal_ms": 1e300}, "cpus[0].steal_ms"),
        ({"cpus__0__mode": "quantum"}, "cpus[0].mode"),
        ({"notes": ["<img src=x>"]}, "notes[0]"),
        ({"notes": ["x"] * 101}, "notes"),
        ({"sleep_us": 0}, "sleep_us"),
    ],
)
def test_hostile_values_are_named(sample, values, field):
    with pytest.raises(BadInput) as caught:
        parse_report(change(sample, **values), NOW)
    assert field in str(caught.value)
    assert len(str(caught.value)) < 300
    assert "<" not in str(caught.value)


def test_more_wakeups_than_time_are_refused(sample):
    document = json.loads(sample)
    cpu = document["cpus"][0]
    cpu["histogram"][0][1] += 10**6
    cpu["wakeups"] += 10**6
    with pytest.raises(BadInput, match="fit into the time"):
        parse_report(json.dumps(document).encode(), NOW)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"schema": NaN}',
        b'{"a":' * 50_000,
        b"1" * 10_000,
    ],
)
def test_what_is_no_report_is_refused(data):
    with pytest.raises(BadInput):
        parse_report(data, NOW)


def test_a_huge_body_is_refused_before_it_is_read():
    data = b" " * (MOST_BYTES + 1)
    start = time.process_time()
    with pytest.raises(BadInput, match="at most"):
        parse_report(data, NOW)
    assert time.process_time() - start < 0.1


def test_a_repetition_is_known_and_an_abused_id_refused(sample):
    report = parse_report(sample, NOW)
    again = parse_report(json.dumps(json.loads(sample), indent=3).encode(), NOW)
    other = parse_report(change(sample, host__name="other"), NOW)
    assert not is_repetition(None, report)
    assert is_repetition(report.fingerprint, again)
    with pytest.raises(BadInput, match="report_id"):
        is_repetition(report.fingerprint, other)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@given(where=st.integers(0, 30), value=json_values)
def test_any_json_in_any_place_is_accepted_or_refused(where, value):
    document = json.loads((PROJECT / "fixtures" / "screening" / "report.json").read_bytes())
    places = [(document, key) for key in document]
    places += [(document["cpus"][0], key) for key in document["cpus"][0]]
    place, key = places[where % len(places)]
    place[key] = value
    with contextlib.suppress(BadInput):
        assert parse_report(json.dumps(document).encode(), NOW).cpus is not None


def test_the_schema_is_printed_as_json_schema():
    schema = json.loads(print_schema())
    assert schema["additionalProperties"] is False
    assert schema["properties"]["cpus"]["items"]["properties"]["wakeups"]["minimum"] == 0


def test_every_field_is_documented():
    from screening.report.schema import CALLS, CPU, HOST, REPORT, ROUND, ROUND_ALWAYS

    page = (PROJECT / "docs" / "methods" / "screening-report.md").read_text()
    fields = [*REPORT.required, *REPORT.optional, *HOST, *CPU, *CALLS, *ROUND, *ROUND_ALWAYS]
    assert [name for name in fields if f"`{name}`" not in page] == []
