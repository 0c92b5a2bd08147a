"""Clients from analytics tables and probe selections, and what of them is measured."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.impact.clients.analytics import is_analytics, read_analytics
from analysis.impact.clients.client_keys import merge_smallest
from analysis.impact.clients.client_places import client_places
from analysis.impact.clients.probe_selections import parse_json, read_probes
from analysis.impact.clients.vantage_matching import (
    Basis,
    VantageFacts,
    describe_basis,
    match_clients,
)
from core.errors import BadInput

# As the products write them: Google Analytics 4, Plausible, Matomo (UTF-16), Cloudflare.
GOOGLE = (
    b"# ----------------------------------------\n# Demographic details: City\n"
    b"# Start date: 20260301\n# ----------------------------------------\n\n"
    b"Country,City,Active users,New users\nGermany,Berlin,120,80\nGermany,(not set),30,20\n"
    b'"Congo - Kinshasa",Kinshasa,7,7\n(not set),(not set),3,3\n\n# Totals\nx,y,999,9\n'
)
PLAUSIBLE = "name,visitors\nUnited States,50\nCôte d'Ivoire,5\n".encode()
MATOMO = "Label\tVisits\tmetadata_code\nDeutschland\t1,204\tde\nUnknown\t4\txx\n".encode("utf-16")
CLOUDFLARE = b"clientCountryName,ClientASN,Requests\nDE,3320,9\nDE,3320,1\nT1,0,4\nGB,AS2856,5\n"


@pytest.mark.parametrize(
    ("data", "weights", "column", "unplaced"),
    [
        (GOOGLE, {"DE/Berlin": 120, "DE": 30, "CD/Kinshasa": 7}, "Active users", 3),
        (PLAUSIBLE, {"US": 50, "CI": 5}, "visitors", 0),
        (MATOMO, {"DE": 1204}, "Visits", 4),
        (CLOUDFLARE, {"DE/AS3320": 10, "GB/AS2856": 5}, "Requests", 4),
    ],
    ids=["Google", "Plausible", "Matomo", "Cloudflare"],
)
def test_tables_of_analytics_products_are_read(data, weights, column, unplaced):
    assert is_analytics(data)
    found = read_analytics(data)
    assert (found.weights, found.column, found.unplaced) == (weights, column, unplaced)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"country,users\nDE,1\nAtlantis,2\n", "line 3: 'Atlantis' is not a known country"),
        (b"country,users\nDE,many\n", "line 2: 'many' is not a number"),
        (b"country,users\nDE,-1\n", "line 2: .* not a number from 0 up"),
        (b"city,users\nBerlin,1\n", "line 1: .* needs a column country"),
        (b"country,mood\nDE,1\n", "line 1: no column of numbers"),
        (b"country,asn,users\nDE,telekom,1\n", "line 2: 'telekom' is not an AS number"),
        (b"country,users\nDE,0\n", "above 0"),
        (b"country,users\n\xff\xfe,1\n", "line 2: .*UTF-8"),
    ],
)
def test_a_wrong_table_is_refused_with_line_and_reason(data, words):
    with pytest.raises(BadInput, match=words):
        read_analytics(data)


ATLAS = {"results": [{"country_code": "DE", "asn_v4": 3320}, {"country_code": "NL", "asn_v4": 0}]}
GLOBALPING = [{"location": {"country": "DE", "asn": 3320}}, {"location": {"country": "JP"}}]


def test_each_probe_of_a_selection_is_a_client():
    assert read_probes(ATLAS) == {"DE/AS3320": 1, "NL": 1}
    assert read_probes(GLOBALPING) == {"DE/AS3320": 1, "JP": 1}
    with pytest.raises(BadInput, match="probe 2 has no country"):
        read_probes([{"country": "DE"}, {"country": "??"}])
    with pytest.raises(BadInput, match="line 2"):
        parse_json(b'{"results":\n oops}')


@given(st.binary(max_size=200))
def test_no_bytes_break_the_readers(data):
    for read in (read_analytics, is_analytics, lambda text: read_probes(parse_json(text))):
        with suppress(BadInput):
            read(data)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda c: (
            st.lists(c)
            | st.dictionaries(
                st.sampled_from(["results", "probe", "location", "country", "asn"]), c
            )
        ),
    )
)
def test_no_document_breaks_the_reader_of_probes(document):
    with suppress(BadInput):
        read_probes(json.loads(json.dumps(document)))


VANTAGES = {
    "v1": VantageFacts("DE", "Berlin", 3320, (52.5, 13.4)),
    "v2": VantageFacts("DE", "Munich", 680, (48.1, 11.6)),
    "v3": VantageFacts("US", "Dallas", 7018, (32.8, -96.8)),
}


def test_a_client_is_measured_in_its_place_else_in_its_country_else_modelled():
    cities = {("DE", "augsburg"): (48.4, 10.9)}
    weights = {"DE": 2, "DE/berlin": 3, "DE/AS680": 5, "DE/Augsburg": 7, "DE/AS1": 4, "FR": 8}
    matched = match_clients({**weights, "AQ": 1}, VANTAGES, cities)
    basis = {row.client: (str(row.basis), row.vantages) for row in matched.clients}
    assert basis == {
        "DE": ("measured", 2),
        "DE/berlin": ("measured", 1),
        "DE/AS680": ("measured", 1),
        "DE/Augsburg": ("measured-in-country", 1),
        "DE/AS1": ("measured-in-country", 2),
        "FR": ("modelled", 0),
        "AQ": ("left-out", 0),
    }
    assert matched.weights == {"v1": 1 + 3 + 2, "v2": 1 + 5 + 7 + 2}
    assert next(row.km for row in matched.clients if row.client == "DE/Augsburg") < 70
    assert matched.away() == {"FR": 8}
    shares = describe_basis(matched.clients, 3)["shares"]
    assert shares == pytest.approx(
        {
            Basis.MEASURED: 10 / 30,
            Basis.COUNTRY: 11 / 30,
            Basis.MODELLED: 8 / 30,
            Basis.NONE: 1 / 30,
        }
    )


@given(
    st.dictionaries(
        st.sampled_from(["DE", "DE/Berlin", "DE/AS680", "DE/x", "US", "FR/Paris", "AQ"]),
        st.floats(0.01, 1e6),
        min_size=1,
    )
)
def test_no_weight_is_lost(weights):
    matched = match_clients(weights, VANTAGES, {})
    away = sum(row.weight for row in matched.clients if not row.vantages)
    assert sum(matched.weights.values()) + away == pytest.approx(sum(weights.values()))
    for most in (1, 3, 100):
        merged = merge_smallest(weights, most)
        assert sum(merged.values()) == pytest.approx(sum(weights.values()))
        assert len(merged) <= most + len({key[:2] for key in weights})
    placed = client_places(weights, {("DE", "x"): (50.0, 10.0)})
    assert sum(client.weight for client in placed.values()) == pytest.approx(
        sum(weight for key, weight in weights.items() if not key.startswith("AQ"))
    )
