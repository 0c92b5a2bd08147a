"""A world observed without a question, what is brought to it, and the published cells beside it."""

import json
from pathlib import Path

import pytest

from tests import forks
from tests.stores import copy_store

pytestmark = pytest.mark.services

ROOT = Path(__file__).resolve().parents[2]


# Names of the domains that the study names: each world has all of them, whatever its scale.
NAMED = {"aws only": 53, "aws total": 53, "azure only": 119, "azure total": 119, "total": 172}


class Desk:
    """A data folder of its own and the command line."""

    def __init__(self, folder):
        self.folder = copy_store(folder)

    def run(self, *arguments, stdin=None):
        done = forks.manage(self.folder, *arguments, input=stdin, timeout=600)
        return done.returncode, done.stdout, done.stderr

    def json(self, *arguments, stdin=None):
        code, out, err = self.run(*arguments, "--json", stdin=stdin)
        assert code == 0, err
        return json.loads(out)


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return Desk(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def observed(desk):
    return desk.json("testbed", "observe", "imc2013", "--scale", "1/100", "--name", "seen")


@pytest.fixture(scope="module")
def tiny(desk):
    return desk.json("testbed", "observe", "tiny", "--name", "little")


def rows(document, table_id):
    table = document["tables"][table_id]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def test_it_works(desk, observed):
    truth = desk.json("testbed", "truth", "imc2013", "--scale", "1/100")
    assert observed["state"] == "finished"
    assert observed["world"] == "imc2013 testbed, scale 1/100"
    assert observed["names"]["cloud"] == truth["names"]["cloud"]
    # 172 names of named domains, and a hundredth of all others.
    assert truth["names"]["cloud"] == 172 + 7_137
    for table_id, table in (truth["tables"] | truth["tables_zoned"]).items():
        assert observed["tables"][table_id]["rows"] == table["rows"], table_id


def test_the_published_cells_are_met_in_proportion(desk, observed):
    cells = desk.json("study", "compare", "seen")
    near = [
        c
        for c in cells
        if c["table_id"] in ("providers", "regions")
        and c["column"] == "subdomains"
        and c["verdict"] != "contradicted"
    ]
    assert len(near) == 24
    beyond = {(c["table_id"], c["row"]): c["ours"] - c["published"] for c in near}
    for (table_id, row), n in beyond.items():
        if table_id == "providers":
            # Each class of domains has a whole number of names, and the total sums six of them.
            rounded = 2.5 if row == "total" else 1.6
            assert n == pytest.approx(NAMED.get(row, 0), abs=rounded), row
    in_regions = {
        provider: [
            n
            for (table_id, row), n in beyond.items()
            if table_id == "regions" and row.startswith(provider)
        ]
        for provider in ("aws", "azure")
    }
    assert all(-1 < n <= NAMED["aws only"] for n in in_regions["aws"])
    assert all(-1 < n <= NAMED["azure only"] for n in in_regions["azure"])
    assert sum(in_regions["aws"]) == pytest.approx(NAMED["aws only"], abs=3)
    # A name in two regions counts in both, which on Microsoft one in nine does.
    assert sum(in_regions["azure"]) == pytest.approx(10 / 9 * NAMED["azure only"], abs=3)
    assert all(
        c["verdict"] in ("agrees", "contradicted")
        for c in cells
        if c["table_id"] in ("top-domains", "top-features", "top-regions")
    )
    # Customers of the named domains are known, and at home, as often as those of all others.
    beyond = {
        c["column"]: c["ours"] - c["published"]
        for c in cells
        if c["table_id"] == "customers" and not c["column"].endswith("_share")
    }
    parts = {"subdomains": 1, "known": 0.75, "other_country": 0.75 * 0.47}
    parts["other_continent"] = 0.75 * 0.32
    assert beyond == {
        column: pytest.approx(part * NAMED["total"], abs=3) for column, part in parts.items()
    }
    shares = [c for c in cells if c["table_id"] == "customers" and c["column"].endswith("_share")]
    assert {c["verdict"] for c in shares} == {"agrees"}
    assert any(c["verdict"] == "contradicted" and c["why"] for c in cells)


def test_a_small_world_is_seen_with_its_faults(tiny):
    assert tiny["names"]["cloud"] == 30
    assert tiny["names"]["failed"]


def test_zones_that_are_brought_replace_those_before(desk, tiny):
    before = rows(tiny, "zone-usage")
    assert {r["zone"] for r in before if r["region"] == "us-east-1"} > {"a"}
    address = "240.0.0.1"
    lines = json.dumps({"target": address, "region": "us-east-1", "zone": "use1-az9"})
    assert desk.json("study", "zones", "little", "-", stdin=lines) == {"addresses": 1}
    code, out, _ = desk.run("study", "compare", "little", "--table", "zone-usage")
    assert code == 0
    assert "missing" in out


def test_customers_that_are_brought_count(desk, tiny):
    domain = rows(tiny, "top-domains")[0]["domain"]
    text = f"domain,country,weight\n{domain},us,3\n{domain},DE,1\n"
    assert desk.json("study", "customers", "little", "-", stdin=text) == {"rows": 2}


@pytest.mark.parametrize(
    ("action", "text", "complaint"),
    [
        ("zones", "address,region,zone\nnowhere,us-east-1,a\n", "'nowhere' is not an address"),
        ("zones", "address,zone\n192.0.2.1,a\n", "region is missing"),
        ("customers", "domain,country\na.test,USA\n", "not a country code of two letters"),
        ("customers", "domain,country,weight\na.test,US,-1\n", "must not be negative"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_stored(desk, tiny, action, text, complaint):
    code, _, err = desk.run("study", action, "little", "-", stdin=text)
    assert code == 2
    assert complaint in err
    assert "line 2" in err


def test_a_survey_that_is_not_there_is_said(desk):
    code, _, err = desk.run("study", "compute", "nothing")
    assert code != 0
    assert "no survey nothing" in err
