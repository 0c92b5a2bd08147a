"""A list of names on both cores: the same lines, each name once, however often it is stopped."""

import json
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pyarrow.parquet as pq
import pytest

from tasks.resolution import resolve_command
from tasks.resolution.engine_factory import Resolving
from tasks.resolution.resolve_command import ListJob, resolve_list
from tests.crawlers.engine.responder import Responder, good

TYPES = ("A", "AAAA")


def reply(query, name, protocol, count):
    """Names of all kinds: lost ones, aliases that go on elsewhere, wrong types, errors."""
    number = int(name.partition(".")[0].strip("n") or 0)
    if number % 29 == 1 and count == 1:
        return None
    if number % 7 == 2:
        return [good(query, rcode=3)]
    if number % 7 == 3:
        return [good(query, rcode=2)]
    if number % 7 == 4:
        return [good(query, (name, "CNAME", f"n{number - 4}.b.test."))]
    if query.question[0].rdtype == 28:
        return [good(query, (name, "AAAA", "2001:db8::1"))]
    return [good(query, (name, "A", "192.0.2.1"))]


@pytest.fixture
def names(tmp_path, monkeypatch):
    monkeypatch.setattr(resolve_command, "_SMALL", 1)
    path = tmp_path / "names"
    lines = [f"n{i}.a.test" for i in range(300)]
    lines[7], lines[150], lines[151] = "N7.A.test.", "# remark", "!"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def server():
    with Responder(reply) as responder:
        yield responder


def run(names, server, out, go_on=lambda progress: True, **more):
    job = ListJob(str(names), TYPES, output=out, **more)
    options = Resolving((f"127.0.0.1:{server.port}",), window=50, timeout_s=0.3)
    server.asked.clear()
    return resolve_list(job, options, go_on)


def rows_of(path):
    rows = [json.loads(line) for line in path.open()]
    for row in rows:
        del row["rtt_ms"], row["at"], row["attempts"]
    return sorted(rows, key=lambda row: (row["name"], row["type"]))


def test_both_cores_write_the_same_lines(names, server, tmp_path):
    made = {}
    for compiled in (True, False):
        out = tmp_path / f"{compiled}.jsonl"
        progress = run(names, server, out, compiled=compiled)
        assert type(progress.asker).__name__ == ("_Compiled" if compiled else "_Recursive")
        assert progress.done == len(TYPES) * 298
        assert sum(progress.by_status().values()) == progress.done
        made[compiled] = rows_of(out)
    assert made[True] == made[False]
    assert {row["status"] for row in made[True]} == {"NOERROR", "NXDOMAIN", "SERVFAIL"}


def test_both_cores_make_the_same_table(names, server, tmp_path):
    made = {}
    for compiled in (True, False):
        out = tmp_path / f"{compiled}.parquet"
        progress = run(names, server, out, compiled=compiled)
        assert type(progress.asker).__name__ == ("_Compiled" if compiled else "_Recursive")
        table = pq.read_table(out)
        assert table["at"][0].as_py() > datetime.now(UTC) - timedelta(minutes=5)
        made[compiled] = table.drop_columns(["rtt_ms", "at", "attempts"])
    assert made[True].equals(made[False])
    assert made[True]["ipv6"][1].as_py() == [ip_address("2001:db8::1").packed]


def test_a_run_that_is_stopped_again_and_again_has_each_name_once(names, server, tmp_path):
    whole, out = tmp_path / "whole.jsonl", tmp_path / "x.jsonl"
    run(names, server, whole)
    stops = [3, 120, 121, 430]
    for number, stop in enumerate(stops):
        progress = run(names, server, out, lambda p, at=stop: p.done < at, resume=number > 0)
        assert stop <= progress.done < progress.total
    run(names, server, out, resume=True)
    assert rows_of(out) == rows_of(whole)


@pytest.mark.parametrize(
    "more", [{"subnet": "192.0.2.0/24"}, {"compiled": False}], ids=["subnet", "switched off"]
)
def test_what_the_loop_does_not_offer_the_reference_engine_does(names, server, tmp_path, more):
    progress = run(names, server, tmp_path / "x.jsonl", lambda p: False, **more)
    assert type(progress.asker).__name__ == "_Recursive"
