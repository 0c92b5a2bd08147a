"""Who the clients are, as people write it: read, or refused with its line."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.deployment.countries import continents
from analysis.impact.client_weights import read_audience, split_list, write_audience
from analysis.impact.internet_users import cities_of, country_users, open_regions, users
from analysis.impact.latency_models.stated_model import STATED, modelled_samples
from core.errors import BadInput


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("DE 40\nUS 35.5\n", {"DE": 40, "US": 35.5}),
        ("country,weight\nde,1\n\n# a note\nuk;2 %\n", {"DE": 1, "GB": 2}),
        ('"JP",7\r\nBR: 0\r\n', {"JP": 7}),
        ("", {}),
        ("\ufeffFR=3", {"FR": 3}),
        ("DE/Berlin 4\nGermany/AS64500\t2\nDE 1", {"DE/Berlin": 4, "DE/AS64500": 2, "DE": 1}),
        (
            '"US/Washington, D.C.",5\nFR/Le Mans 24 6',
            {"US/Washington, D.C.": 5, "FR/Le Mans 24": 6},
        ),
    ],
)
def test_countries_and_weights_are_read_in_the_usual_forms(text, found):
    assert read_audience(text.encode()) == found


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"DE -4", "is not a client and a weight"),
        (b"DE nan", "is not a client and a weight"),
        (b"US 1\nGermny 5", "line 2: 'Germny' is not a known country"),
        (b"AS64500 3", "needs its country"),
        (b"DE/AS99999999999 3", "is not an AS number"),
        (b"DE/ 3", "neither a city nor a network"),
        (b"XX 3", "not a known country"),
        (b"DE 1\nDE 2", "is listed twice"),
        (b"DE 0", "above 0"),
        (b"DE " + b"9" * 400, "too large"),
        (b"\xff\xfe", "not UTF-8"),
        (b"DE 1\0", "binary"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(data, words):
    with pytest.raises(BadInput, match=words):
        read_audience(data)


def test_a_domain_list_may_carry_its_clients():
    wide = b"rank,domain,DE,UK\n1,a.example,10,20\n2,b.example,,5\n"
    assert split_list(wide) == (b"\n1,a.example\n2,b.example", {"DE": 10, "GB": 25})
    long = b"domain;country;clients\na.example;JP;3\nb.example;JP;4\n"
    assert split_list(long) == (b"\na.example\nb.example", {"JP": 7})
    with pytest.raises(BadInput, match="line 3"):
        split_list(b"domain,DE\na.example,1\nb.example,many\n")


@pytest.mark.parametrize(
    "data", [b"a.example\n", b"rank,domain\n1,a.example\n", b"domain,to\nx,y\n"]
)
def test_a_list_without_clients_stays_as_it_is(data):
    kept, weights = split_list(data)
    assert weights == {} or "to" in data.decode()
    if not weights:
        assert kept == data


@given(st.binary(max_size=300))
def test_no_bytes_break_the_readers(data):
    for reader in (read_audience, split_list):
        with suppress(BadInput):
            reader(data)


CITIES = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=40)
CLIENTS = st.builds(
    lambda code, rest: f"{code}/{rest}" if rest else code,
    st.sampled_from(sorted(country_users())),
    st.one_of(
        st.just(""), st.integers(1, 2**32 - 1).map("AS{}".format), CITIES.map("Los {}s".format)
    ),
)


@given(st.dictionaries(CLIENTS, st.floats(0.001, 1e9), min_size=1))
def test_written_clients_are_read_back(weights):
    assert read_audience(write_audience(weights).encode()) == pytest.approx(weights, abs=1e-8)


@given(st.dictionaries(st.sampled_from(sorted(country_users())), st.floats(0.001, 1e9), min_size=1))
def test_what_is_written_is_read_back(weights):
    text = "\n".join(f"{code},{weight:f}" for code, weight in weights.items())
    assert read_audience(text.encode()) == pytest.approx(
        {code: float(f"{weight:f}") for code, weight in weights.items()}
    )


def test_listed_countries_lie_on_their_continents_and_share_their_weight():
    assert set(country_users()) <= set(continents())
    assert min(users().values()) > 0
    cities = cities_of({"DE": 8.0, "SG": 1.0})
    assert sum(c.weight for c in cities.values() if c.country == "DE") == 8.0
    assert cities["SG"].at is not None


def test_the_stated_model_is_no_faster_than_light_and_says_what_it_is():
    regions = {n: r for n, r in open_regions().items() if r.provider == "aws"}
    assert not [name for name in regions if "gov" in name or "/cn-" in name]
    samples = modelled_samples(cities_of({"JP": 1.0, "DE": 1.0}), regions)
    assert samples.rounds == ("modelled",)
    assert samples.values.min() >= STATED.access_ms
    near = samples.values[samples.regions.index("aws/ap-northeast-1")]
    far = samples.values[samples.regions.index("aws/sa-east-1")]
    tokyo = samples.clients.index("JP-1")
    assert near[tokyo, 0] < 25 < 150 < far[tokyo, 0]
    with pytest.raises(BadInput):
        modelled_samples({}, regions)
