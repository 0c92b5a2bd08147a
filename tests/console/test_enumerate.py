"""``manage.py enumerate`` in a process of its own, against worlds with a known truth."""

import json
import re

import pytest

from crawlers.enumeration.wildcard_level import PROBES
from testbed.server.server import running
from testbed.truth.counting import hidden_reason
from testbed.worlds.loading import build_world, read_labels
from tests.console.test_survey import Installation

pytestmark = pytest.mark.services

WORDS = read_labels(common=120)


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    return Installation(tmp_path_factory.mktemp("enumerate"))


@pytest.fixture(scope="module")
def tiny():
    with running(build_world("tiny")) as server:
        yield server


@pytest.fixture
def listed(installation):
    path = installation.folder / "domains.txt"
    path.write_text("elm.test\nhazel.test\nbirch.test\n")
    words = installation.folder / "words.txt"
    words.write_text("\n".join(WORDS))
    return path, words


def enumerate_names(installation, server, listed, *more):
    path, words = listed
    where = ("--name-server", f"127.0.0.1:{server.port}", "--words", words)
    code, out, err = installation.run("enumerate", path, *where, *more, "--json")
    assert code == 0, err
    return {row["name"]: row for row in map(json.loads, out.splitlines())}, err


def test_it_works(installation, tiny, listed):
    rows, err = enumerate_names(installation, tiny, listed)
    world, words = build_world("tiny"), frozenset(WORDS)
    wanted = {
        name.fqdn
        for zone, name in world.names()
        if zone.domain in ("elm.test", "hazel.test", "birch.test")
        and not hidden_reason(zone, name, words, axfr=True)
    }
    assert set(rows) == wanted
    assert {row["state"] for row in rows.values()} == {"found"}
    extra = int(re.search(r"(\d+) extra questions at 2 levels", err)[1])
    # Of three domains one has a wildcard, where each candidate is asked about once more.
    assert 0 < extra <= len(WORDS) + 3 * PROBES


def test_names_carry_all_their_sources(installation, tiny, listed):
    known = installation.folder / "known.txt"
    known.write_text("www.hazel.test\nwww.birch.test\nx7q2kd0w9z.birch.test\ninvented.elm.test\n")
    rows, _ = enumerate_names(installation, tiny, listed, "--import", known, "--permutations", 20)
    assert rows["www.hazel.test"]["sources"] == ["axfr", "import"]
    assert rows["x7q2kd0w9z.birch.test"]["sources"] == ["import"]
    assert rows["www.birch.test"]["sources"][:2] == ["import", "wordlist"]
    assert "invented.elm.test" not in rows


def test_sources_are_chosen(installation, tiny, listed):
    rows, _ = enumerate_names(installation, tiny, listed, "--sources", "axfr")
    assert {row["technique"] for row in rows.values()} == {"axfr", "listed"}
    rows, _ = enumerate_names(installation, tiny, listed, "--sources", "words")
    assert {row["technique"] for row in rows.values()} == {"wordlist", "listed"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--sources", "axfr,magic"), "magic"),
        (("--sources", "import"), "--import"),
        (("--sources", "certificates"), "--ct-server"),
        (("--import", "nowhere.txt"), "nowhere.txt"),
        (("--permutations", "-1"), "permutations"),
        (("--ct-server", "ftp://x"), "ct"),
    ],
)
def test_mistakes_are_named_before_any_work(installation, listed, options, reason):
    code, out, err = installation.run(
        "enumerate", listed[0], "--name-server", "127.0.0.1:9", *options
    )
    assert (code, out) == (2, "")
    assert reason in err
    assert err.count("\n") == 1
