"""``regions clients`` as processes: figures, refusals, and no address left anywhere behind."""

import gzip
import ipaddress
import json

import pytest

from tests.cartography.access_logs.logs import PLACES, ROUTES, combined, nginx_json
from tests.forks import manage as start
from tests.stores import copy_store

pytestmark = pytest.mark.services

ADDRESSES = [f"192.0.2.{n}" for n in range(1, 60)] + [f"2001:db8::{n:x}" for n in range(1, 30)]
# One of too few clients of its country, and one that no table places.
ADDRESSES += ["198.51.100.7", "172.16.254.3"]


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    folder = copy_store(tmp_path_factory.mktemp("installation") / "var")
    inputs = folder.parent / "inputs"
    inputs.mkdir()
    (inputs / "places.csv").write_bytes(PLACES)
    (inputs / "routes.dat").write_bytes(ROUTES)
    lines = [combined(address) for address in ADDRESSES]
    lines[4] = "not a line of a log\n"
    (inputs / "access.log.gz").write_bytes(gzip.compress("".join(lines * 3).encode()))
    (inputs / "access.json").write_text("".join(map(nginx_json, ADDRESSES)))
    for command, name in (("geolocation", "places.csv"), ("asn", "routes.dat")):
        done = start(folder, command, "import", inputs / name)
        assert done.returncode == 0, done.stderr
    return folder, inputs


def test_a_log_gives_weights_and_says_what_it_left_out(installation):
    folder, inputs = installation
    done = start(
        folder,
        "regions",
        "clients",
        inputs / "access.log.gz",
        inputs / "access.json",
        "--by",
        "city",
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["DE/Berlin\t233", "JP/Tokyo\t116"]
    assert "3 lines: no time at its place; the first: 5, 95, 185" in done.stderr
    assert "349 of 357 requests located; 4 in no table of addresses; 4 of countries" in done.stderr


def test_a_file_that_is_no_log_is_refused_with_its_line(installation):
    folder, inputs = installation
    done = start(folder, "regions", "clients", inputs / "places.csv")

    assert (done.returncode, done.stdout) == (2, "")
    assert "error: line 1: no time at its place" in done.stderr


# The log by the form of a recommendation, and by the API with a wrong file after it.
UPLOADS = """
import pathlib, sys
from django.test import Client
path, site = pathlib.Path({path!r}), Client(SERVER_NAME="localhost")
with path.open("rb") as file:
    page = site.post("/recommendations/clients/", {{"audience_file": file, "by": "network"}})
text = site.get(page["Location"]).content.decode()
read = site.post("/api/v1/client-weights?by=network", path.read_bytes(), "application/gzip")
wrong = b"203.0.113.9 - - no log\\n" * 3 + path.with_name("access.json").read_bytes()[:900]
bad = site.post("/api/v1/client-weights", wrong, "text/plain")
sys.stdout.write(f"{{bad.status_code}} {{bad.json()['detail']}}" + chr(10) + text + chr(10))
sys.stdout.write(read.content.decode())
"""


def test_no_address_of_a_client_is_left_anywhere(installation):
    folder, inputs = installation
    done = start(folder, "regions", "clients", inputs / "access.log.gz", "--json")
    assert json.loads(done.stdout)["weights"]["network"]["DE/AS64500"] == 174
    uploaded = start(
        folder, "shell", "-v", "0", "-c", UPLOADS.format(path=str(inputs / "access.log.gz"))
    )
    assert uploaded.returncode == 0, uploaded.stderr
    first, *page, document = uploaded.stdout.splitlines()
    assert first.startswith("422 line 1: "), first
    assert "Read from an access log: common or combined" in " ".join(page)
    assert json.loads(document)["weights"]["DE/AS64500"] == 174
    copied = start(folder, "backup", folder.parent / "copy")
    assert copied.returncode == 0, copied.stderr

    forms = set()
    for text in ADDRESSES:
        address = ipaddress.ip_address(text)
        forms |= {text.encode(), address.exploded.encode()}
        forms |= {address.packed} if address.version == 6 else set()
    # The first address of the imported prefix is in the table of addresses itself.
    forms -= {ipaddress.ip_address("2001:db8::").packed}
    kept = [path for root in (folder, folder.parent / "copy") for path in root.rglob("*")]
    holders = [
        (path.name, form)
        for path in kept
        if path.is_file()
        for data in [path.read_bytes()]
        for form in forms
        if form in data
    ]
    parts = (part for run in (done, uploaded, copied) for part in (run.stdout, run.stderr))
    said = "".join(parts).encode()
    assert not holders
    assert not [form for form in forms if form in said]
    assert len(kept) > 10
