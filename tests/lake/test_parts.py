import resource
import subprocess
import sys
import textwrap

import pytest

from core.errors import Unavailable
from core.records import DomainOutcome
from lake.parts import open_views, part_path, parts_of, write_part
from lake.schemas import SCHEMAS, rows_of_domains


def rows(*domains):
    return rows_of_domains(
        DomainOutcome(d, i, "OK", False, 3, 1, 1, 1, 0, (("TIMEOUT", 2),))
        for i, d in enumerate(domains)
    )


def test_it_works(tmp_path):
    path = part_path(tmp_path, "c", "domains", "s1")
    assert write_part(path, "domains", rows("a.com", "b.com")) == 2
    with open_views(tmp_path, "c") as connection:
        found = connection.execute("SELECT domain, failed[1].count FROM domains").fetchall()
    assert found == [("a.com", 2), ("b.com", 2)]


def test_a_shard_that_runs_twice_leaves_one_result(tmp_path):
    path = part_path(tmp_path, "c", "domains", "s1")
    write_part(path, "domains", rows("a.com"))
    write_part(path, "domains", rows("a.com", "b.com"))
    assert parts_of(tmp_path, "c", "domains") == [path]
    with open_views(tmp_path, "c") as connection:
        assert connection.execute("SELECT count(*) FROM domains").fetchall() == [(2,)]


def test_only_shards_of_the_manifest_count(tmp_path):
    for shard in ("s1", "s2"):
        write_part(part_path(tmp_path, "c", "domains", shard), "domains", rows(f"{shard}.com"))
    with open_views(tmp_path, "c", ["s2"]) as connection:
        assert connection.execute("SELECT domain FROM domains").fetchall() == [("s2.com",)]


def test_tables_without_a_part_are_empty_with_the_right_columns(tmp_path):
    with open_views(tmp_path, "none") as connection:
        for table, schema in SCHEMAS.items():
            result = connection.execute(f"SELECT * FROM {table}")
            assert [c[0] for c in result.description] == schema.names
            assert result.fetchall() == []


def test_a_full_disk_leaves_neither_a_part_nor_debris(tmp_path):
    """A real limit on file size in a process of its own stands for the full disk."""
    code = textwrap.dedent(
        f"""
        import resource, signal
        from pathlib import Path
        from core.errors import Unavailable
        from lake.parts import write_part
        from tests.lake.test_parts import rows
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_part(Path({str(tmp_path)!r}) / "s1.parquet", "domains", rows("a.com", "b.com"))
        except Unavailable as error:
            print("refused:", error)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("refused: cannot write s1.parquet"), done.stderr
    assert list(tmp_path.iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000


def test_a_folder_that_cannot_be_written_is_unavailable(tmp_path):
    (tmp_path / "domains").write_text("a file where a folder should be")
    with pytest.raises((Unavailable, OSError)):
        write_part(tmp_path / "domains" / "s1.parquet", "domains", rows("a.com"))
