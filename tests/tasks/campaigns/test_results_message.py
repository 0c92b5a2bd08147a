"""Results messages and limits of vantage points; damaged and unknown messages are refused."""

import json
import random
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import FakeClock
from core.errors import BadInput
from tasks.protocol.results_message import LARGEST_BYTES, ResultsMessage, pack, unpack
from tasks.vantage.quotas import Budget, LimitReached, limits_of
from tasks.vantage_admin.heartbeats import parse_heartbeat

VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
JSON = st.recursive(
    VALUES | st.floats(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@st.composite
def parcels(draw):
    rows = draw(st.integers(0, 5))
    names = draw(st.lists(st.text(max_size=8), max_size=4, unique=True))
    columns = {n: draw(st.lists(VALUES, min_size=rows, max_size=rows)) for n in names}
    finite = st.dictionaries(st.text(max_size=8), VALUES, max_size=3)
    return ResultsMessage(draw(st.text(max_size=8)), draw(finite), columns)


@given(parcels())
def test_a_message_survives(message):
    if not any(v in (float("inf"), float("-inf")) for c in message.columns.values() for v in c):
        message = ResultsMessage(message.kind, {}, message.columns)
        assert unpack(pack(message)) == message


@given(st.binary(max_size=200))
def test_octets_that_are_none_are_refused(data):
    for text in (data, b"NP1" + data, b"NP1" + zlib.compress(data)):
        with pytest.raises(BadInput, match="results message"):
            unpack(text)


@given(JSON)
def test_any_json_is_a_parcel_or_refused(document):
    data = b"NP1" + zlib.compress(json.dumps(document).encode())
    try:
        message = unpack(data)
    except BadInput:
        return
    assert isinstance(message.kind, str)
    assert len({len(c) for c in message.columns.values()}) <= 1


def test_a_bomb_is_refused_and_takes_no_memory():
    bomb = zlib.compressobj(9)
    blank = b" " * 1_000_000
    data = b"NP1" + b"".join(bomb.compress(blank) for _ in range(500)) + bomb.flush()
    assert len(data) < LARGEST_BYTES
    with pytest.raises(BadInput, match="too large"):
        unpack(data)
    with pytest.raises(BadInput, match="too large"):
        unpack(b"NP1" + b"x" * LARGEST_BYTES)
    with pytest.raises(BadInput, match="too large"):
        pack(ResultsMessage("x", {}, {"n": [random.getrandbits(60) for _ in range(600_000)]}))


def test_damage_is_refused():
    good = pack(ResultsMessage("x", {"a": 1}, {"n": [1, 2]}))
    deep = zlib.compress(b"[" * 100_000)
    uneven = zlib.compress(b'["x",{},{"a":[1],"b":[]}]')
    nan = zlib.compress(b'["x",{},{"a":[NaN]}]')
    damaged = (good[:-3], good + b"x", *(b"NP1" + d for d in (deep, uneven, nan)))
    for data in damaged:
        with pytest.raises(BadInput, match="results message"):
            unpack(data)


@given(JSON)
def test_any_pulse_is_read_or_left(document):
    word = parse_heartbeat(json.dumps(document).encode())
    assert word is None or set(word) == {
        "instance",
        "version",
        "clock_offset_ms",
        "clock_doubt_ms",
        "load",
    }


@given(st.binary(max_size=60))
def test_octets_are_no_pulse(data):
    assert parse_heartbeat(data) is None or data.strip().startswith(b"{")


def budget(clock, path=None, **limits):
    return Budget(limits_of(limits), path, clock)


def test_probes_are_spread_over_time():
    clock = FakeClock()
    here = budget(clock, probes_per_s=10)
    for _ in range(100):
        here.spend(1)
    # Half a second's worth may go at once.
    assert clock.monotonic() == pytest.approx(9.9, abs=0.6)
    clock.sleep(1_000)
    begun = clock.monotonic()
    for _ in range(20):
        here.spend(5)
    assert clock.monotonic() - begun >= 9.0


def test_bytes_of_a_day_are_kept_over_a_restart_and_begin_anew_at_midnight(tmp_path):
    clock = FakeClock(datetime(2026, 1, 1, 22, tzinfo=UTC))
    path = tmp_path / "spent.json"
    budget(clock, path, bytes_per_day=1_000).spend(1, 700)
    again = budget(clock, path, bytes_per_day=1_000)
    assert again.spent_bytes == 700
    with pytest.raises(LimitReached, match="700 of 1,000"):
        again.spend(1, 400)
    again.refund(200)
    again.spend(1, 400)
    clock.sleep(2 * 3_600)
    again.spend(1, 1_000)
    path.write_text("damaged")
    assert budget(clock, path, bytes_per_day=1_000).spent_bytes == 0


@pytest.mark.parametrize(
    ("hours", "open_at", "closed_at"),
    [((0, 24), 23, None), ((9, 17), 9, 17), ((22, 6), 5, 6), ((22, 6), 22, 21)],
)
def test_hours_are_kept_also_over_midnight(hours, open_at, closed_at):
    for hour, allowed in ((open_at, True), (closed_at, False)):
        if hour is None:
            continue
        clock = FakeClock(datetime(2026, 1, 1, hour, 30, tzinfo=UTC))
        here = budget(clock, from_hour=hours[0], to_hour=hours[1])
        if allowed:
            here.spend()
        else:
            with pytest.raises(LimitReached, match="UTC"):
                here.spend()


@given(st.dictionaries(st.sampled_from(["probes_per_s", "bytes_per_day", "from_hour"]), VALUES))
def test_limits_are_checked_or_refused(values):
    try:
        found = limits_of(values)
    except BadInput:
        return
    assert found.probes_per_s > 0
    assert found.bytes_per_day >= 0
