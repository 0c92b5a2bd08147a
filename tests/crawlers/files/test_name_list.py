import io

from hypothesis import given
from hypothesis import strategies as st

from crawlers.engine.config import Question
from crawlers.files.name_list import NameList, _read_name


def names_of(data, types=("A",)):
    found = NameList(io.BytesIO(data), types)
    return [q.name for q in found.questions()], found


def test_plain_lists_are_read_as_they_are():
    names, found = names_of(b"www.a.test\nb.test\n_dmarc.c.test")
    assert names == ["www.a.test", "b.test", "_dmarc.c.test"]
    assert found.rejected_count == 0


def test_odd_lines_are_cleaned_or_named_with_their_number():
    data = "# head\n\nWWW.A.Test.\r\nb.test,7\nbücher.test x\n..\n" + "y" * 64 + ".test\nc.test\n"
    names, found = names_of(data.encode())
    assert names == ["www.a.test", "b.test", "xn--bcher-kva.test", "c.test"]
    assert [item.line for item in found.rejected] == [6, 7]
    assert found.rejected_count == 2


def test_a_line_that_never_ends_does_not_fill_the_memory():
    class Endless(io.RawIOBase):
        left = 200

        def read(self, size=-1):
            self.left -= 1
            return b"x" * size if self.left > 0 else b""

    found = NameList(Endless(), ("A",))
    assert list(found.questions()) == []
    assert found.rejected_count == 1


def test_tags_number_the_questions_so_that_a_second_reading_can_go_on():
    data = b"".join(b"n%d.test\n" % i for i in range(9_000))
    first = list(NameList(io.BytesIO(data), ("A", "AAAA")).questions())
    assert [q.tag for q in first] == list(range(18_000))
    left = NameList(io.BytesIO(data), ("A", "AAAA")).questions_after(17_990, frozenset({3, 8_000}))
    assert list(left) == [first[3], first[8_000], *first[17_990:]]


def test_subnet_and_zone_travel_with_each_question():
    found = NameList(io.BytesIO(b"w.a.test\n"), ("A",), "192.0.2.0/24", lambda name: name[2:])
    assert list(found.questions()) == [Question("w.a.test", "A", 0, None, "192.0.2.0/24", "a.test")]


@given(st.lists(st.text("abz-_.A, #\\é", max_size=70), max_size=30))
def test_the_fast_way_reads_what_the_slow_way_reads(lines):
    data = "\n".join(lines).encode()
    slow = NameList(io.BytesIO(data), ("A",))
    expected = [name for line in data.split(b"\n") if (name := slow._read_line(line))]
    names, found = names_of(data)
    assert names == expected
    assert found.rejected_count == slow.rejected_count
    assert all(_read_name(name) == name for name in names)
