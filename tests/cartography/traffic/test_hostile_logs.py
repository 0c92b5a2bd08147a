"""Whatever a log holds, every line is either a row or counted, and nothing else breaks."""

import gzip
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cartography.traffic.logs import conn, header, read, row
from tests.examples import examples

CELL = st.one_of(
    st.text(max_size=12).filter(lambda t: not set(t) & set("\t\n\r")),
    st.sampled_from(
        ["-", "(empty)", "\\x09", "\\x", '"', "'", "\0", "1e9", "-1", "٣", "::1", "🙂"]
    ),
)
NAMES = st.sampled_from(["uid", "orig_h", "resp_h", "orig_p", "resp_p", "ts"])
CONN = st.sampled_from(["proto", "service", "orig_bytes", "resp_ip_bytes", "local_orig"])
CALM = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def count(content):
    with tempfile.TemporaryDirectory() as folder:
        (account,), parts = read(Path(folder), content)
    return account, parts


@CALM
@given(st.lists(st.dictionaries(st.one_of(NAMES, CONN), CELL, max_size=4), min_size=1, max_size=20))
def test_every_line_is_a_row_or_counted(rows):
    lines = [conn(**{"uid": f"C{i}", **values}) for i, values in enumerate(rows)]
    # A first cell that begins with a mark makes a remark of its line.
    lines = [line for line in lines if not line.startswith("#")]
    account, _ = count(header("conn") + "".join(lines))
    assert account.rows + account.tally.total == len(lines)


@CALM
@given(st.lists(CELL, min_size=1, max_size=30))
def test_hostile_hosts_are_rows_all_the_same(hosts):
    from tests.cartography.traffic.logs import ALICE, VIRGINIA

    lines = [row("http", uid="C1", orig_h=ALICE, resp_h=VIRGINIA, host=host) for host in hosts]
    account, parts = count(header("http") + "".join(lines))
    assert account.rows == len(lines)
    for found in parts["http"]:
        assert (found["name"] is None) == (found["reason"] is not None)


@CALM
@given(st.binary(max_size=400), st.booleans())
def test_bytes_of_any_kind_never_break_an_import(data, after_header):
    content = (header("conn").encode() if after_header else b"") + data
    if content[:2] != b"BZ" and content[:4] != b"PK\x03\x04":
        account, _ = count(content)
        assert account.rows == 0


@CALM
@given(st.data())
def test_a_cut_anywhere_loses_what_is_behind_it_only(data):
    lines = [conn(f"C{i}") for i in range(30)]
    whole = (header("conn") + "".join(lines)).encode()
    cut = data.draw(st.integers(len(header("conn")) + 1, len(whole)))
    account, parts = count(whole[:cut])
    n_whole = whole[:cut].count(b"\n") - header("conn").count("\n")
    assert n_whole <= account.rows <= n_whole + 1
    assert account.rows + account.tally.total >= n_whole
    packed = gzip.compress(whole, mtime=0)
    account, _ = count(packed[: max(3, cut * len(packed) // len(whole))])
    assert account.rows <= 30


@CALM
@given(st.lists(st.text(max_size=30).map(lambda t: t.replace("\n", "")), max_size=20))
def test_objects_of_any_kind_never_break_an_import(lines):
    text = '{"uid": "C0"}\n' + "".join(line + "\n" for line in lines)
    account, _ = count(text)
    assert account.rows == 0
    assert account.tally.total >= 1
