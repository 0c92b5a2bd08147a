"""``packets`` from logs to tables, as a process of its own."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from tests import forks
from tests.cartography.traffic.logs import (
    ALICE,
    AZURE,
    BOB,
    KEY,
    STRANGER,
    VIRGINIA,
    conn,
    header,
    row,
)
from tests.cartography.traffic.packets import ethernet, ipv4, pcap, tcp
from tests.stores import copy_store

pytestmark = pytest.mark.services

ROOT = Path(__file__).resolve().parents[2]


def run(data, *arguments, path=None):
    return forks.manage(copy_store(data), *arguments, env={"PATH": path} if path else {})


def done(data, *arguments, **more):
    found = run(data, *arguments, "--json", **more)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packets")
    for provider, name in (("aws", "aws-sample.json"), ("azure", "azure-tags-sample.json")):
        day = () if provider == "aws" else ("--as-of", "2024-06-24")
        done(folder, "ranges", "import", provider, ROOT / "fixtures" / "ranges" / name, *day)
    return folder


@pytest.fixture
def logs(tmp_path):
    conns = [
        conn("C1", ALICE, VIRGINIA, service="ssl"),
        conn("C2", BOB, AZURE, service="http", resp_p=80),
        conn("C3", AZURE, ALICE),
        conn("C4", ALICE, STRANGER),
        "C5\tcut\n",
    ]
    texts = {
        "conn.log": header("conn") + "".join(conns),
        "ssl.log": header("ssl")
        + row("ssl", uid="C1", orig_h=ALICE, resp_h=VIRGINIA, server_name="a.shop.example"),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [tmp_path / name for name in texts]


def test_it_works(data, logs):
    found = done(data, "packets", "import", *logs, "--name", "Campus, July")
    assert [(own["kind"], own["rows"], own["rejected"]) for own in found["logs"]] == [
        ("conn", 4, 1),
        ("ssl", 1, 0),
    ]
    reasons = {"wrong number of columns": {"count": 1, "first_lines": [12]}}
    assert found["logs"][0]["reasons"] == reasons
    assert found["clouds"] == {
        "aws": {"rows": 2, "bytes": 1000, "flows": 1},
        "azure": {"rows": 2, "bytes": 2000, "flows": 2},
    }
    assert found["opened"] == {
        "aws": {"bytes": 1000, "flows": 1},
        "azure": {"bytes": 1000, "flows": 1},
    }
    assert found["checks"] == []
    report = done(data, "packets", "report", "campus-july")
    assert report == found
    assert report["tables"]["traffic-domains"]["rows"][0][2] == "shop.example"
    assert "campus-july" in done(data, "packets", "list")


def test_the_report_reads_as_sentences(data, logs):
    run(data, "packets", "import", *logs, "--name", "words")
    text = run(data, "packets", "report", "words").stdout
    assert "50.0 % of the bytes towards clouds go to Amazon (n = 2)" in text
    assert "aws\t1\tshop.example\t1000" in text


def test_refusals_stand_on_standard_error(data, logs):
    found = run(data, "packets", "import", *logs)
    assert "conn.log: 1 left out: wrong number of columns (first in line 12)" in found.stderr
    assert "conn, 4 rows, 1 rejected" in found.stdout


def test_a_key_makes_clients_the_same_in_two_imports(data, logs, tmp_path):
    import pyarrow.parquet as pq

    key = tmp_path / "key"
    key.write_bytes(KEY)
    key.chmod(0o600)
    clients = []
    for name, option in (("k1", ["--key-file", key]), ("k2", ["--key-file", key]), ("k3", [])):
        document = done(data, "packets", "import", *logs, "--name", name, *option)
        assert document["key"] == ("given" if option else "random, not kept")
        part = pq.read_table(data / "packets" / name / "conn.parquet")
        clients.append(part["client"].to_pylist())
    assert clients[0] == clients[1] != clients[2]
    for path in data.rglob("*"):
        assert not path.is_file() or (
            KEY not in (own := path.read_bytes()) and b"10.0.0." not in own
        )


def test_bad_input_is_one_line_and_changes_nothing(data, logs, tmp_path):
    done(data, "packets", "import", *logs, "--name", "kept")
    noise, beside = tmp_path / "noise.log", data / "key"
    noise.write_text("nothing of use\n")
    beside.write_bytes(KEY)
    before = done(data, "packets", "report", "kept")
    for arguments, said in (
        ([noise], "no row of a Zeek log"),
        ([tmp_path / "none.log"], "no such file"),
        ([logs[0], logs[0]], "given twice"),
        ([*logs, "--key-file", beside], "keep it elsewhere"),
        ([*logs, "--client-network", "10.0.0.1/8"], "is not a network"),
    ):
        found = run(data, "packets", "import", *arguments, "--name", "kept")
        assert (found.returncode, found.stdout) == (2, ""), arguments
        assert said in found.stderr
        assert len(found.stderr.strip().splitlines()) == 1
    beside.unlink()
    assert done(data, "packets", "report", "kept") == before
    assert [p.name for p in (data / "packets").iterdir() if p.name.startswith(".")] == []


def test_without_range_tables_the_command_says_what_to_import(logs, tmp_path):
    found = run(tmp_path / "empty", "packets", "import", *logs)
    assert found.returncode == 2
    assert "ranges import" in found.stderr


def test_rows_are_placed_by_the_table_of_their_day(data, tmp_path):
    later = json.loads((ROOT / "fixtures" / "ranges" / "aws-sample.json").read_text())
    later["createDate"] = "2024-07-02-00-00-00"
    for entry in later["prefixes"]:
        entry["region"] = entry["region"].replace("us-east-1", "us-east-2")
    own = tmp_path / "data"
    ranges = [ROOT / "fixtures" / "ranges" / "aws-sample.json", tmp_path / "aws.json"]
    ranges[1].write_text(json.dumps(later))
    for path in ranges:
        done(own, "ranges", "import", "aws", path, "--force")
    days = [1719792000 + n * 86400 for n in range(3)]
    log = tmp_path / "conn.log"
    long_ago = conn("old", ts="946684800.5")
    log.write_text(header("conn") + "".join(conn(f"C{d}", ts=f"{d}.5") for d in days) + long_ago)
    found = done(own, "packets", "import", log)
    regions = {r[1]: r[4] for r in found["tables"]["traffic-regions"]["rows"]}
    assert regions == {"us-east-1": 2, "us-east-2": 2}
    used = {t["as_of"]: t["is_later"] for t in found["range_tables"]}
    assert used == {"2013-03-29": True, "2024-07-02": False}
    found = done(own, "packets", "import", log, "--as-of", "2024-07-03")
    assert {r[1] for r in found["tables"]["traffic-regions"]["rows"]} == {"us-east-2"}


def test_a_capture_is_read_without_zeek(data, tmp_path):
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([ethernet(ipv4(ALICE, VIRGINIA, 6, tcp(40000, 443)))]))
    found = done(data, "packets", "import", path, "--reader", "own")
    assert found["logs"][0]["kind"] == "capture"
    assert found["clouds"] == {"aws": {"rows": 1, "bytes": 40, "flows": 1}}


ZEEK = """#!{python}
import sys, time
assert sys.argv[1:3] == ["-C", "-r"] and open(sys.argv[3], "rb").read(4) == b"\\xd4\\xc3\\xb2\\xa1"
{what}
"""


def test_zeek_reads_captures_where_it_is_installed(data, tmp_path):
    """A program of that name, which writes a log where it stands as Zeek does."""
    log = header("conn") + conn("C1", ALICE, AZURE)
    zeek, capture = tmp_path / "bin" / "zeek", tmp_path / "a.pcap.gz"
    zeek.parent.mkdir()
    capture.write_bytes(gzip.compress(pcap([ethernet(ipv4(ALICE, VIRGINIA, 6, tcp(1, 2)))])))
    for what, check in (
        (f"open('conn.log', 'w').write({log!r})", None),
        ("sys.stderr.write('bad\\nfatal error: no'); sys.exit(1)", "fatal error: no"),
    ):
        zeek.write_text(ZEEK.format(python=sys.executable, what=what))
        zeek.chmod(0o755)
        arguments = ("packets", "import", capture, "--name", "zeek", "--json")
        found = run(data, *arguments, path=f"{zeek.parent}:/usr/bin:/bin")
        if check:
            assert (found.returncode, check in found.stderr) == (2, True)
        else:
            document = json.loads(found.stdout)
            assert document["clouds"] == {"azure": {"rows": 1, "bytes": 1000, "flows": 1}}
            assert document["logs"][0]["path"].endswith("a.pcap.gz:conn.log")
    assert sorted(p.name for p in (data / "packets" / "zeek").iterdir()) == [
        "conn.parquet",
        "report.json",
    ]
    found = run(data, "packets", "import", capture, "--reader", "zeek", path="/usr/bin:/bin")
    assert (found.returncode, "zeek is not installed" in found.stderr) == (2, True)
