import io
import json
from ipaddress import ip_address

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.records import Record
from core.statuses import DnsStatus
from crawlers.compiled.layout import RESULT_WORDS
from crawlers.engine.config import Lines, Question, Result
from crawlers.files.jsonl import LineWriter
from crawlers.files.line_columns import WaitingLines, _order
from crawlers.files.parquet import ParquetSink, _count_next
from crawlers.files.writers import LineSink
from lake import columns
from tests.examples import examples

NAME_SERVERS = (
    Record("a.test", "NS", 300, "ns1.a.test"),
    Record("a.test", "NS", 300, "ns2.a.test"),
)


def result(number, rrtype="A", status=DnsStatus.NOERROR, data="192.0.2.1", name=None):
    name = name or f"n{number}.a.test"
    answers = (Record(name, rrtype, 60, data),) if status == DnsStatus.NOERROR else ()
    return Result(
        Question(name, rrtype, number),
        status,
        answers,
        NAME_SERVERS,
        "127.0.0.1:53",
        rtt_ms=None if status == DnsStatus.TIMEOUT else 1.5,
        at=1795248000.25,
    )


texts = st.text(st.characters(max_codepoint=0x7F), max_size=20)
records = st.tuples(
    st.builds(Record, texts, st.sampled_from(["A", "TXT"]), st.integers(0, 2**31 - 1), texts)
)


@given(texts, records, st.sampled_from(list(DnsStatus)), st.none() | st.floats(0, 1e4))
def test_a_line_says_what_the_answer_holds(name, answers, status, rtt_ms):
    made = Result(Question(name), status, answers, NAME_SERVERS, "[::1]:53", rtt_ms=rtt_ms, at=1e9)
    line = json.loads(LineWriter().write([made]))
    expected = made.as_answer().as_json() | {"at": "2001-09-09T01:46:40.000Z"}
    assert line == expected


def test_a_subnet_and_its_scope_stand_in_the_line():
    made = result(1)._replace(question=Question("n1.a.test", subnet="192.0.2.0/24"), scope=20)
    line = json.loads(LineWriter().write([made]))
    assert (line["subnet"], line["scope"]) == ("192.0.2.0/24", 20)


def test_lines_go_on_behind_the_mark_and_drop_what_came_after(tmp_path):
    path = tmp_path / "x.jsonl"
    sink = LineSink.open(path)
    sink.write([result(1)])
    mark = sink.mark(0)
    sink.write([result(2)])
    sink._handle.flush()
    again = LineSink.open(path, mark)
    again.write([result(3)])
    again.finish()
    assert [json.loads(line)["name"] for line in path.open()] == ["n1.a.test", "n3.a.test"]


def test_what_is_written_to_a_stream_comes_in_order():
    stream = io.BytesIO()
    sink = LineSink(stream)
    sink.write([])
    sink.write([result(2), result(1)])
    assert stream.getvalue().count(b"\n") == 2


def rows_of(path):
    return pq.read_table(path).to_pylist()


def test_addresses_and_numbers_of_names_are_binary(tmp_path):
    path = tmp_path / "x.parquet"
    sink = ParquetSink(path, 2)
    sink.write([result(1, "AAAA", data="2001:db8::1", name="n0.a.test"), result(0)])
    sink.write([result(2, status=DnsStatus.TIMEOUT)])
    sink.finish()
    table = pq.read_table(path)
    assert (table.schema.field("ipv4").type, table.schema.field("ipv6").type) == (
        columns.IPV4,
        columns.IPV6,
    )
    first, second, third = table.to_pylist()
    assert (first["name_id"], first["ipv4"], first["ipv6"]) == (
        0,
        [int(ip_address("192.0.2.1"))],
        [],
    )
    assert (second["name_id"], second["ipv6"]) == (0, [ip_address("2001:db8::1").packed])
    assert (third["name_id"], third["status"], third["rtt_ms"]) == (1, "TIMEOUT", None)
    assert third["answers"] == []
    assert [r["data"] for r in first["authorities"]] == ["ns1.a.test", "ns2.a.test"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("late", [5, 60, 400])
def test_rows_are_in_the_order_of_the_list_however_late_answers_come(tmp_path, late, monkeypatch):
    monkeypatch.setattr("crawlers.files.parquet._ROWS_PER_GROUP", 50)
    path = tmp_path / "x.parquet"
    sink = ParquetSink(path, 1)
    order = [n for n in range(500) if n % 100] + []
    for n in range(0, 500, 100):
        order.insert(min(len(order), n + late), n)
    for start in range(0, 500, 7):
        sink.write([result(n) for n in order[start : start + 7]])
    sink.finish()
    assert [row["name_id"] for row in rows_of(path)] == list(range(500))
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_stopped_goes_on_behind_its_last_mark(tmp_path):
    path = tmp_path / "x.parquet"
    sink = ParquetSink(path, 1)
    sink.write([result(n) for n in (0, 1, 3)])
    mark = sink.mark(0)
    # What a killed process left behind.
    (tmp_path / ".x.parquet.000001.part").write_bytes(b"half a part")
    assert not path.exists()
    again = ParquetSink(path, 1, mark)
    again.write([result(n) for n in (2, 4)])
    again.finish()
    assert [row["name_id"] for row in rows_of(path)] == [0, 1, 2, 3, 4]
    assert list(tmp_path.iterdir()) == [path]


def test_no_result_at_all_is_an_empty_table(tmp_path):
    path = tmp_path / "x.parquet"
    ParquetSink(path, 1).finish()
    assert pq.read_table(path).num_rows == 0


@settings(max_examples=examples(50))
@given(st.lists(st.sampled_from([(), NAME_SERVERS, NAME_SERVERS[:1]]), max_size=20))
def test_sections_that_repeat_read_as_they_are(sections):
    read = columns.sections_column(sections).to_pylist()
    assert read == [[r._asdict() for r in section] for section in sections]


@settings(max_examples=examples(50))
@given(st.sets(st.integers(0, 40), min_size=1), st.randoms(use_true_random=False))
def test_numbers_are_brought_in_order_as_by_sorting(numbers, random):
    shuffled = np.array(random.sample(sorted(numbers), len(numbers)))
    assert shuffled[_order(shuffled)].tolist() == sorted(numbers)
    n_next = next(n for n in range(42) if n not in numbers)
    assert _count_next(shuffled) == n_next


def test_memory_of_written_lines_is_used_again():
    waiting = WaitingLines(1)
    for _ in range(20):
        for octets in (2 << 20, 2 << 20, 700_000, 700_000):
            waiting.add(Lines(b" " * octets, bytes(8 * RESULT_WORDS), 1, b"", ("A",), ("x",)))
        waiting.collect(0)
        waiting.pop()
    assert sum(len(piece.memory) for piece in waiting._free) <= 8 << 20
