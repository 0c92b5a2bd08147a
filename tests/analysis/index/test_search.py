from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.index.search import NameFile, write_names
from tests.examples import examples

LETTERS = st.text("ab.é%_'\"", min_size=1, max_size=5)


def search_in(folder, *parts):
    paths = [Path(folder) / f"names-{number}.parquet" for number in range(len(parts))]
    for path, names in zip(paths, parts, strict=True):
        pq.write_table(pa.table({"name": pa.array(names, pa.string())}), path)
    write_names(paths, Path(folder) / "names.txt")
    return NameFile(Path(folder) / "names.txt")


@settings(deadline=None, max_examples=examples(40))
@given(st.lists(LETTERS, max_size=20), st.lists(LETTERS, max_size=20), LETTERS)
def test_the_closest_names_come_first(first, second, text):
    with TemporaryDirectory() as folder:
        found = search_in(folder, first, second).closest(text, 5)
    wanted = [name for name in {*first, *second} if text in name]
    wanted.sort(key=lambda name: (name != text, len(name.encode()), name))
    assert found == wanted[:5]


def test_a_text_over_two_names_is_in_neither(tmp_path):
    names = search_in(tmp_path, ["a.example", "b.example"])
    assert names.closest("example\nb", 5) == []
    assert names.closest("", 5) == []


def test_a_survey_without_names_has_none(tmp_path):
    assert search_in(tmp_path).closest("a", 5) == []
