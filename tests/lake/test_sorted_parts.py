"""Sorted parts: reading some keys finds what reading all rows finds, and skips other groups."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import Damaged
from lake import sorted_parts
from lake.parts import open_few, part_path, write_part
from lake.schemas import SCHEMAS
from lake.sorted_parts import rows_of_keys
from tests.examples import examples

DOMAINS = ["a.test", "b.a.test", "ba.test", "c.test", "é.test"]
PAIRS = st.tuples(st.sampled_from(DOMAINS), st.sampled_from(["www", "mail", "x"]))
COLUMNS = ["domain", "name", "instance"]


def fronts(pairs):
    rows = [
        {"domain": domain, "name": f"{label}.{domain}", "instance": str(number)}
        for number, (domain, label) in enumerate(pairs)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMAS["fronts"])


def texts(table):
    return sorted(zip(*(table[name].to_pylist() for name in COLUMNS), strict=True))


@settings(max_examples=examples(60))
@given(
    st.lists(st.lists(PAIRS, max_size=30), min_size=1, max_size=3),
    st.lists(st.sampled_from([*DOMAINS, "absent.test"]), min_size=1, max_size=3),
    st.integers(1, 7),
)
def test_rows_of_keys_are_those_of_a_full_read(tmp_path_factory, shards, wanted, group_rows):
    root = tmp_path_factory.mktemp("lake")
    paths = [part_path(root, "one", "fronts", str(n)) for n in range(len(shards))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_parts, "GROUP_ROWS", group_rows)
        for path, pairs in zip(paths, shards, strict=True):
            write_part(path, "fronts", fronts(pairs))
    whole = pa.concat_tables([fronts(pairs) for pairs in shards])

    found = rows_of_keys(paths, {"domain": wanted})
    assert texts(found) == texts(whole.filter(pc.is_in(whole["domain"], pa.array(wanted))))

    name = f"www.{wanted[0]}"
    found = rows_of_keys(paths, {"domain": wanted, "name": [name]})
    assert texts(found) == texts(whole.filter(pc.equal(whole["name"], name)))


def test_other_groups_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sorted_parts, "GROUP_ROWS", 2)
    path = part_path(tmp_path, "one", "fronts", "s")
    write_part(path, "fronts", fronts([(f"d{n}.test", "www") for n in range(9, 0, -1)]))
    damage_last_group(path)

    assert texts(rows_of_keys([path], {"domain": ["d1.test"]}))[0][0] == "d1.test"
    with pytest.raises(Damaged, match="one/fronts/s.parquet is damaged"):
        rows_of_keys([path], {"domain": ["d9.test"]})


def damage_last_group(path):
    group = pq.read_metadata(path).row_group(4)
    data = bytearray(path.read_bytes())
    column = group.column(0)
    start = column.dictionary_page_offset or column.data_page_offset
    data[start + column.total_compressed_size - 3] ^= 0x55
    path.write_bytes(data)


def test_parts_of_older_versions_give_the_same_rows(tmp_path):
    pairs = [("c.test", "www"), ("a.test", "www"), ("c.test", "mail"), ("a.test", "x")]
    old = part_path(tmp_path, "old", "fronts", "s")
    old.parent.mkdir(parents=True)
    pq.write_table(fronts(pairs), old)
    write_part(part_path(tmp_path, "new", "fronts", "s"), "fronts", fronts(pairs))

    assert rows_of_keys([old], {"domain": ["c.test"]}) is None
    query = "SELECT name, instance FROM fronts WHERE domain = 'c.test' ORDER BY ALL"
    keys = {"domain": ["c.test"]}
    found = [
        open_few(tmp_path, survey, ["fronts"], None, keys).execute(query).fetchall()
        for survey in ("old", "new")
    ]
    assert found[0] == found[1] == [("mail.c.test", "2"), ("www.c.test", "0")]


def test_a_replaced_part_is_read_anew(tmp_path):
    path = part_path(tmp_path, "one", "fronts", "s")
    for label in ("www", "mail"):
        write_part(path, "fronts", fronts([("a.test", label)] * (2 if label == "mail" else 1)))
        names = rows_of_keys([path], {"domain": ["a.test"]})["name"].to_pylist()
        assert set(names) == {f"{label}.a.test"}
