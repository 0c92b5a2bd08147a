"""Countries and cities of addresses: each published form, nesting, files that map, refusals."""

import gzip
import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartography.geolocation.files import Place, read_places
from cartography.geolocation.tables import PlaceTable
from core.errors import BadInput
from tests.examples import examples

GEOFEED = b"# feed\n192.0.2.0/24,DE,DE-BE,Berlin,\n192.0.2.128/25,DE,,Bonn\n2001:db8::/32,JP,,,\n"
COUNTRIES = b"192.0.2.0,192.0.2.127,DE\n192.0.2.128,192.0.2.255,ZZ\n2001:db8::,2001:db8::ff,JP\n"
NUMBERS = b'"3221225984","3221226239","DE","Germany"\n"0","16777215","-","-"\n'
TABS = b"192.0.2.0\t192.0.2.255\tDE\n"
DBIP = b"192.0.2.0,192.0.2.255,EU,DE,Berlin,Berlin,52.5200,13.4050\n"
WIDE = b"192.0.2.0,192.0.2.255,DE,Berlin,,Berlin,10115,52.52,13.40,Europe/Berlin\n"


def find(data, *addresses):
    table = PlaceTable.build(read_places(data))
    found = [table.find(address) for address in addresses]
    return [(place.country, place.city) if place else None for place in found]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (GEOFEED, [("DE", "Berlin"), ("DE", "Bonn"), ("JP", ""), None]),
        (COUNTRIES, [("DE", ""), None, ("JP", ""), None]),
        (NUMBERS, [("DE", ""), ("DE", ""), None, None]),
        (TABS, [("DE", ""), ("DE", ""), None, None]),
        (gzip.compress(DBIP, mtime=0), [("DE", "Berlin"), ("DE", "Berlin"), None, None]),
        (WIDE, [("DE", "Berlin"), ("DE", "Berlin"), None, None]),
    ],
)
def test_every_published_form_is_read(data, expected):
    assert find(data, "192.0.2.1", "192.0.2.200", "2001:db8::1", "198.51.100.1") == expected


def test_a_written_table_is_mapped_with_coordinates(tmp_path):
    PlaceTable.build(read_places(DBIP)).write(tmp_path / "places.map")

    found = PlaceTable.open(tmp_path / "places.map").find("192.0.2.9")
    assert found == Place("DE", "Berlin", (52.5, 13.4))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"192.0.2.0/24,DE\n192.0.2.0/33,DE\n", "line 2: '192.0.2.0/33' is not a prefix"),
        (b"192.0.2.0/24,Germany\n", "line 1: 'Germany' is not a country code"),
        (b"192.0.2.9,192.0.2.1,DE\n", "line 1: its first two columns are not a range"),
        (b"192.0.2.0,192.0.2.9,DE\n192.0.2.9,192.0.2.20,FR\n", "overlap"),
        (b"a,b\n", "line 1: it has 2 columns"),
        (b"192.0.2.0,192.0.2.255,EU,DE,,Berlin,95,13.4\n", "line 1: its coordinates"),
        (b"192.0.2.0/24,DE\n\xff\n", "line 2: it is not UTF-8"),
        (b"", "places no address"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(data, said):
    with pytest.raises(BadInput) as refusal:
        PlaceTable.build(read_places(data))
    assert said in str(refusal.value)


@given(
    st.lists(
        st.tuples(st.integers(0, 255), st.integers(24, 32), st.sampled_from(["DE", "FR", "JP"])),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 255),
)
@settings(deadline=None, max_examples=examples(120))
def test_the_longest_prefix_places_an_address(rows, asked):
    known = {}
    for last, length, country in rows:
        network = ipaddress.ip_network(f"192.0.2.{last}/{length}", strict=False)
        known[network] = country
    data = "".join(f"{network},{country}\n" for network, country in known.items()).encode()
    address = ipaddress.ip_address(f"192.0.2.{asked}")

    holding = [network for network in known if address in network]
    longest = max(holding, key=lambda network: network.prefixlen, default=None)
    assert find(data, str(address)) == [(known[longest], "") if longest else None]
