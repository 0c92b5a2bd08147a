"""The main job from domain list to report, against a world with a known truth."""

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
import radix

from tests import forks
from tests.shared import shared_file, write_few_labels
from tests.stores import copy_store
from tests.tasks.site import HANGS_S

pytestmark = pytest.mark.services

ROOT = Path(__file__).resolve().parents[2]


class Installation:
    """A separate data folder, with the command line in child processes."""

    def __init__(self, folder, *, has_store=True):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = copy_store(folder) if has_store else folder
        self.env = forks.bare_environment(folder)

    def start(self, *arguments, **more):
        command = [sys.executable, str(ROOT / "manage.py"), *map(str, arguments)]
        return forks.Process(command, env=self.env, text=True, **more)

    def run(self, *arguments, stdin=None):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.PIPE}
        process = self.start(*arguments, **pipes)
        out, err = process.communicate(stdin, timeout=HANGS_S)
        return process.returncode, out, err

    def serve_testbed(self, *arguments):
        process = self.start("testbed", "serve", *arguments, "--port", 0, stderr=subprocess.PIPE)
        for line in process.stderr:
            if line.startswith("answering"):
                return (
                    process,
                    line.split("port ")[1].split(";")[0],
                    line.split("survey ")[1].split()[0],
                )
        raise AssertionError("the testbed did not start")


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    return Installation(tmp_path_factory.mktemp("installation"))


@pytest.fixture(scope="module")
def testbed(installation, labels):
    process, port, domains = installation.serve_testbed(
        "imc2013", "--scale", "1/1000", "--wordlist", labels
    )
    yield f"127.0.0.1:{port}", domains
    process.terminate()
    process.wait(10)


@pytest.fixture(scope="module")
def labels(installation):
    """The most frequent labels alone: the world is made of them, and the survey finds them."""
    return write_few_labels(installation.folder)


@pytest.fixture(scope="module")
def truth(installation, labels):
    world = ("imc2013", "--scale", "1/1000", "--wordlist", labels)
    code, out, _ = installation.run("testbed", "truth", *world, "--json")
    assert code == 0
    return json.loads(out)


@pytest.fixture(scope="module")
def survey(installation, testbed, labels, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    server, domains = testbed
    options = ("--name-server", server, "--wordlist", labels, "--out", out, "--json")
    code, text, err = installation.run("survey", domains, "--name", "whole", *options)
    assert code == 0, err
    return json.loads(text), out


def test_every_table_equals_the_truth(survey, truth):
    document, _ = survey
    for table_id, table in truth["tables"].items():
        assert document["tables"][table_id]["rows"] == table["rows"], table_id
    assert document["names"]["cloud"] == truth["names"]["cloud"]


def test_aliases_that_lead_nowhere_are_those_of_the_world(survey, truth):
    table = survey[0]["tables"]["dangling-names"]
    columns = [table["columns"].index(c) for c in ("domain", "name", "missing")]
    assert sorted([row[c] for c in columns] for row in table["rows"]) == truth["dangling"]
    assert truth["dangling"]
    free = {row[3].split(".", 1)[1]: row[-1] for row in table["rows"]}
    assert free.get("azurewebsites.net", "yes") == free.get("cloudapp.net", "yes") == "yes"
    assert free.get("us-east-1.elb.amazonaws.com", "no") == "no"


def test_the_world_is_labelled(survey):
    assert survey[0]["world"] == "imc2013 testbed, scale 1/1000"


def test_files_hold_the_same_figures(survey, truth):
    document, out = survey
    assert json.loads((out / "report.json").read_text())["tables"] == document["tables"]
    rows = list(csv.DictReader((out / "names.csv").open()))
    assert len(rows) == truth["names"]["cloud"]
    assert {r["class"] for r in rows} <= {r[0] for r in truth["tables"]["providers"]["rows"]}
    regions = list(csv.reader((out / "tables" / "regions.csv").open()))
    assert [r[1] for r in regions[1:]] == [r[1] for r in truth["tables"]["regions"]["rows"]]
    for table in ("lookups", "domains", "placements", "fronts", "servers"):
        path = out / "observations" / f"{table}.parquet"
        assert duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0] > 0


def test_a_killed_survey_resumes_to_the_same_report(
    installation, testbed, labels, survey, tmp_path
):
    server, domains = testbed
    options = ("--name-server", server, "--wordlist", labels, "--json")
    spared, out = survey
    arguments = ("survey", domains, "--name", "killed", *options)
    first = installation.start(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    parts = installation.folder / "lake" / "killed" / "servers"
    deadline = time.monotonic() + 60
    while len(list(parts.glob("*.parquet"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    code, text, err = installation.run(*arguments, "--out", tmp_path / "killed")
    assert code == 0, err
    assert "resuming killed" in err
    resumed = json.loads(text)
    assert resumed["tables"] == spared["tables"]
    assert resumed["names"] == spared["names"]
    counted = "SELECT count(*), count(DISTINCT (domain, name, type)) FROM '{}'"
    for folder in (tmp_path / "killed", out):
        path = folder / "observations" / "lookups.parquet"
        whole, distinct = duckdb.sql(counted.format(path)).fetchall()[0]
        assert whole == distinct


def test_placements_agree_with_an_independent_match_on_real_ranges(installation, labels, tmp_path):
    aws = shared_file("ip-ranges/aws-ip-ranges-2015-04.json")
    azure = shared_file("ip-ranges/azure-PublicIPs-20170911.xml")
    names = shared_file("domains-dns/alexa-top-1000-2013-11.csv")
    short = tmp_path / "names.txt"
    import re

    short.write_text("\n".join(re.findall(r'"([^"]+)"', names.read_text())[:120]))
    options = ["--domains", short, "--ranges", f"aws={aws}", "--ranges", f"azure={azure}"]
    process, port, _ = installation.serve_testbed("imc2013", *options, "--wordlist", labels)
    try:
        arguments = ("survey", short, "--name", "real", "--name-server", f"127.0.0.1:{port}")
        arguments += ("--wordlist", labels)
        code, _, err = installation.run(*arguments, "--out", tmp_path / "out", "--json")
        assert code == 0, err
    finally:
        process.terminate()
        process.wait(10)
    tree = independent_table(aws, azure)
    path = tmp_path / "out" / "observations" / "placements.parquet"
    rows = duckdb.sql(f"SELECT address, provider, region_as_published, prefix FROM '{path}'")
    checked = 0
    for address, provider, region, prefix in rows.fetchall():
        node = tree.search_best(address)
        assert (node.prefix if node else None) == prefix
        if node:
            assert (provider, region) in node.data["places"]
            checked += 1
    assert checked > 50


def independent_table(aws, azure):
    """The two files read anew, without the product's readers."""
    from xml.etree import ElementTree

    rows = [(p["ip_prefix"], "aws", p["region"]) for p in json.loads(aws.read_text())["prefixes"]]
    for region in ElementTree.parse(azure).getroot():
        rows += [(i.get("Subnet"), "azure", region.get("Name")) for i in region]
    tree = radix.Radix()
    for prefix, provider, region in rows:
        node = tree.search_exact(prefix) or tree.add(prefix)
        node.data.setdefault("places", set()).add((provider, region))
    return tree


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "empty"), (b"\x7fELF\0\0" * 99, "binary"), (b"nothing here\n", "no usable domain")],
)
def test_unusable_lists_are_one_clear_line(installation, testbed, tmp_path, data, reason):
    path = tmp_path / "list"
    path.write_bytes(data)
    code, out, err = installation.run("survey", path, "--name-server", testbed[0])
    assert code == 2
    assert out == ""
    assert reason in err.strip().splitlines()[-1]
    assert "Traceback" not in err


def test_an_unreachable_server_is_a_reason_not_a_crash(installation, tmp_path, testbed):
    path = tmp_path / "list"
    path.write_text("a.example\n")
    arguments = ("--name-server", "127.0.0.1:9", "--timeout", "0.1", "--retries", "1", "--json")
    code, out, err = installation.run(
        "ranges",
        "import",
        "aws",
        installation.folder / "worlds" / "imc2013-1-1000-1" / "aws-ip-ranges.json",
    )
    assert code == 0, err
    for remark in ("unreachable: 1 domains", "resuming unreachable"):
        named = ("--name", "unreachable")
        code, out, err = installation.run("survey", path, *arguments, *named)
        assert (code, out) == (1, "")
        # It is kept, and the same command goes on with it.
        assert err.startswith(remark)
        assert err.splitlines()[-1].startswith("error: no answer from 127.0.0.1:9 for ")


def test_resolve_and_enumerate(installation, testbed, truth):
    server, domains = testbed
    name = truth["tables"]["top-domains"]["rows"][0][1]
    code, out, err = installation.run(
        "resolve", "-", "--name-server", server, "--type", "NS", stdin=f"{name}\n"
    )
    assert code == 0, err
    row = json.loads(out)
    assert (row["name"], row["type"], row["status"]) == (name, "NS", "NOERROR")
    assert set(row) >= {
        "answers",
        "authorities",
        "resolver",
        "protocol",
        "attempts",
        "rtt_ms",
        "at",
    }
    assert "names/s" in err
    path = installation.folder / "one.txt"
    path.write_text(name)
    code, out, err = installation.run("enumerate", path, "--name-server", server, "--json")
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    assert len(found) == truth["tables"]["top-domains"]["rows"][0][2]
    assert {f["technique"] for f in found} <= {"axfr", "wordlist", "listed"}


def files_below(folder):
    """Bytes of the report of ``--out``, by name."""
    names = ["report.json", "names.csv", *(p.relative_to(folder) for p in folder.glob("tables/*"))]
    return {str(name): (folder / name).read_bytes() for name in names}


def test_a_package_gives_the_same_report_on_another_installation(
    installation, survey, tmp_path_factory
):
    other = Installation(tmp_path_factory.mktemp("other"))
    package, again = installation.folder / "whole.tar", other.folder / "again.tar"
    code, out, err = installation.run("survey", "export", "whole", "-o", package, "--json")
    assert code == 0, err
    assert json.loads(out)["bytes"] == package.stat().st_size
    rebuilt = other.folder / "rebuilt"
    code, out, err = other.run("survey", "rebuild", package, "--out", rebuilt, "--json")
    assert code == 0, err
    assert json.loads(out) == {"survey": "whole", "differences": []}
    assert files_below(rebuilt) == files_below(survey[1])
    assert len(files_below(rebuilt)) > 20
    code, out, err = other.run("survey", "export", "whole", "-o", again)
    assert code == 0, err
    assert again.read_bytes() == package.read_bytes()
    assert len(list((other.folder / "lake" / "whole" / "lookups").glob("*.parquet"))) > 1
    for arguments, words in (
        (("rebuild", package), "--slug"),
        (("rebuild", again.with_name("none.tar")), "none.tar"),
        (("export", "never", "-o", again), "no survey never"),
        (("rebuild", rebuilt / "report.json"), "package"),
    ):
        code, out, err = other.run("survey", *arguments)
        assert (code, out) == (2, ""), arguments
        assert words in err
        assert len(err.splitlines()) == 1


def test_without_json_a_summary_is_printed(installation, testbed, labels, tmp_path):
    server, domains = testbed
    short = tmp_path / "one.txt"
    short.write_text(Path(domains).read_text().splitlines()[0] + "\n")
    options = ("--name-server", server, "--wordlist", labels)
    code, out, err = installation.run("survey", short, "--name", "one", *options)
    assert code == 0, err
    assert out.startswith("one: ")
    assert len(out.splitlines()) > 20
