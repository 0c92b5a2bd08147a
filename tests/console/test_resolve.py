"""The bulk resolver as a command: its outputs, and what becomes of it when it is stopped."""

import json
import signal
import subprocess
import sys
import time

import dns.edns
import pyarrow.parquet as pq
import pytest

from core.records import Record
from core.statuses import DnsStatus
from crawlers.engine.config import Question, Result
from testbed.hierarchy.generation import generate_hierarchy
from testbed.hierarchy.server import serving
from tests.console.test_survey import Installation
from tests.crawlers.engine.cores import load_compiled_step
from tests.crawlers.engine.responder import Responder, good
from tests.crawlers.iterative.test_resolver import differences_from_truth, free_port
from tests.forks import ROOT

pytestmark = pytest.mark.services


@pytest.fixture
def installation(tmp_path):
    return Installation(tmp_path / "installation", has_store=False)


@pytest.fixture
def server():
    def reply(query, name, protocol, count):
        return [good(query, (name, "A", "192.0.2.1"))]

    with Responder(reply) as responder:
        yield responder


def write_names(folder, count):
    path = folder / "names.txt"
    path.write_text("".join(f"n{i}.a.test\n" for i in range(count)))
    return path


def options(server, *more):
    return ["--name-server", f"127.0.0.1:{server.port}", *more]


def test_it_starts_without_the_store_and_writes_one_line_per_name(installation, server, tmp_path):
    code, out, err = installation.run("resolve", "-", *options(server), stdin="a.test\n!\nb.test\n")
    assert code == 0, err
    assert {json.loads(line)["name"] for line in out.splitlines()} == {"a.test", "b.test"}
    assert "line 2" in err
    assert "1 lines left out" in err
    assert not list((tmp_path / "installation").glob("*.sqlite3*"))


def test_one_row_per_name_and_type_in_a_table(installation, server, tmp_path):
    out = tmp_path / "x.parquet"
    names = write_names(tmp_path, 300)
    code, _, err = installation.run(
        *("resolve", names, "--type", "aaaa", "--type", "A", "--output", out), *options(server)
    )
    assert code == 0, err
    rows = pq.read_table(out).to_pylist()
    assert [(r["name_id"], r["type"]) for r in rows] == [
        (i, t) for i in range(300) for t in ("A", "AAAA")
    ]
    assert {(r["type"], r["status"]) for r in rows} == {("A", "NOERROR"), ("AAAA", "NODATA")}


def test_a_run_loads_neither_django_nor_pandas(server, tmp_path):
    # Each takes longer to load than ten thousand names to resolve.
    unwanted = {"django", "asyncio", "pandas", "pyarrow.compute", "ada_url", "importlib.metadata"}
    command = [sys.executable, "-X", "importtime", "manage.py", "resolve"]
    command += [write_names(tmp_path, 300), "--output", tmp_path / "x.parquet", *options(server)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pyarrow.parquet" in loaded
    assert not loaded & unwanted


def stop_and_go_on(installation, server, tmp_path, out, sign):
    names = write_names(tmp_path, 2_000)
    command = ["resolve", names, "--output", out, *options(server, "--rate", "400")]
    process = installation.start(*command)
    # A killed process has only what it wrote down before.
    needs_state = sign == signal.SIGKILL
    while sum(server.asked.values()) < 400 or needs_state and not [*tmp_path.glob("*.state")]:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(sign)
    code = process.wait(60)
    assert not list(tmp_path.glob("x.parquet"))
    refused, _, text = installation.run(*command)
    assert refused == 2
    assert "--resume" in text
    again, _, err = installation.run(*command, "--resume")
    assert again == 0, err
    return code


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_or_killed_run_goes_on(installation, server, tmp_path, sign):
    out = tmp_path / "x.jsonl"
    code = stop_and_go_on(installation, server, tmp_path, out, sign)
    assert code == (130 if sign == signal.SIGINT else -9)
    names = [json.loads(line)["name"] for line in out.open()]
    assert sorted(names) == sorted(f"n{i}.a.test" for i in range(2_000))
    asked_again = sum(n > 1 for n in server.asked.values())
    assert asked_again < 1_500
    assert not list(tmp_path.glob("x.jsonl.state"))


def test_a_stopped_table_goes_on(installation, server, tmp_path):
    out = tmp_path / "x.parquet"
    assert stop_and_go_on(installation, server, tmp_path, out, signal.SIGINT) == 130
    assert pq.read_table(out)["name_id"].to_pylist() == list(range(2_000))
    assert {p.name for p in tmp_path.iterdir()} == {"installation", "names.txt", "x.parquet"}


def test_another_list_cannot_go_on(installation, server, tmp_path):
    out = tmp_path / "x.jsonl"
    (tmp_path / "x.jsonl.state").write_text(
        json.dumps(
            {"names": "0:x", "asked": ["A", "", "jsonl"], "next_tag": 1, "open_tags": []}
            | {"mark": {"octets": 0}}
        )
    )
    names = write_names(tmp_path, 5)
    code, _, err = installation.run(
        *("resolve", names, "--output", out, "--resume"), *options(server)
    )
    assert code == 2
    assert "other names or types" in err


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--output", "x.csv"], "must end in .jsonl or .parquet"),
        (["--type", "ANY"], "ANY is not offered"),
        (["--subnet", "here"], "is not a network"),
        (["--resume"], "needs a file of names and --output"),
        (["--window", "0"], "window"),
    ],
)
def test_mistakes_are_named(installation, server, more, text):
    code, _, err = installation.run("resolve", "-", *options(server), *more, stdin="a.test\n")
    assert code == 2
    assert text in err


@pytest.mark.parametrize("engine", [[], ["--no-compiled"]])
def test_iterative_mode_finds_the_same_from_the_root_down(installation, engine):
    # A list of unknown length is worth the loop where it is compiled.
    load_compiled_step()
    network = f"127.{20 + time.time_ns() % 40}"
    world = generate_hierarchy(40, 4, network=network)
    names = sorted({name for name, rrtype, *_ in world.questions if rrtype == "A"})
    port = free_port()
    with serving(world, port) as servers:
        roots = [x for root in servers.roots for x in ("--root-server", f"{root}:{port}")]
        code, out, err = installation.run(
            *("resolve", "-", "--iterative", *engine, *roots, "--allow-network", "127.0.0.0/8"),
            stdin="\n".join(names),
        )
    assert code == 0, err
    found = {}
    for line in out.splitlines():
        row = json.loads(line)
        answers = tuple(Record(**r) for r in row["answers"])
        found[row["name"]] = Result(Question(row["name"]), DnsStatus(row["status"]), answers)
    assert found.keys() == set(names)
    assert differences_from_truth(world, found.values()) == []


def test_a_client_subnet_reaches_the_server_and_its_scope_comes_back(installation, tmp_path):
    def reply(query, name, protocol, count):
        message = good(query, (name, "A", "192.0.2.1"))
        option = next(o for o in query.options if isinstance(o, dns.edns.ECSOption))
        assert (option.address, option.srclen) == ("198.51.100.0", 24)
        message.use_edns(options=[dns.edns.ECSOption("198.51.100.0", 24, 20)])
        return [message]

    with Responder(reply) as server:
        code, out, err = installation.run(
            "resolve", "-", "--subnet", "198.51.100.0/24", *options(server), stdin="a.test\n"
        )
    assert code == 0, err
    assert (json.loads(out)["subnet"], json.loads(out)["scope"]) == ("198.51.100.0/24", 20)


def test_a_full_disk_is_one_clear_error(installation, server, tmp_path):
    names = write_names(tmp_path, 50)
    full = tmp_path / "full.jsonl"
    full.symlink_to("/dev/full")
    code, _, err = installation.run("resolve", names, "--output", full, *options(server))
    assert code == 1
    assert "No space left" in err
    assert "Traceback" not in err


def test_a_dry_run_tells_the_load_on_each_server_and_asks_nothing(installation, server, tmp_path):
    names = write_names(tmp_path, 301)
    more = ["--name-server", "127.0.0.2:9", "--rate", "10", "--total-rate", "4", "--dry-run"]
    code, out, err = installation.run("resolve", names, *options(server), *more)
    assert code == 0, err
    assert out.splitlines() == [
        f"127.0.0.1:{server.port}: 151 questions, at most 604 queries, 2 queries/s, "
        "at least 1 min 16 s",
        "127.0.0.2:9: 150 questions, at most 600 queries, 2 queries/s, at least 1 min 15 s",
    ]
    assert not server.asked


def test_a_dry_run_from_the_root_down_counts_by_domain(installation, server, tmp_path):
    code, out, err = installation.run(
        "resolve",
        "-",
        "--iterative",
        "--dry-run",
        "--rate",
        "1",
        stdin="a.b.test\nc.test\nd.b.test\n",
    )
    assert code == 0, err
    assert out.splitlines()[0].startswith("name servers of b.test: 2 questions, at most 8 queries")
