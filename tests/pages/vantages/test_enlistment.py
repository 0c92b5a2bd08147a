"""Enlisting probes of public networks, from page and API: a worker asks, the page never waits."""

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tasks.campaigns import commands
from tasks.networks import search
from tests.probes.networks import LIMITS, PROBE, Network
from webapp.store.models import VantagePoint

LIST, ENLIST = "/vantage-points/", "/vantage-points/enlist/"
API = "/api/v1/networks/finds"
PLACES = [
    PROBE,
    {**PROBE, "asn": 24940, "network": "Hetzner"},
    {**PROBE, "country": "JP", "city": "Tokyo", "latitude": 35.7, "longitude": 139.7},
    {**PROBE, "country": "BR", "city": "São Paulo", "latitude": -23.5, "longitude": -46.6},
]


@pytest.fixture
def network(settings: Any, tmp_path: Any) -> Any:
    settings.UPLOADS_DIR = tmp_path
    with Network() as found:
        settings.GLOBALPING_URL = settings.ATLAS_URL = found.url
        settings.GLOBALPING_TOKEN, settings.ATLAS_KEY = "", "key-of-atlas"
        found.documents["/v1/limits"] = LIMITS
        found.documents["/v1/probes"] = [{"location": p} for p in PLACES]
        yield found


@pytest.fixture
def operator(db: Any) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_user("op", password="x", is_staff=True))
    return client


def ask(client: Client, **more: Any) -> str:
    """Where the question stands after the form was sent."""
    answer = client.post(ENLIST, {"network": "globalping", "count": 20, **more})
    assert answer.status_code == 302, answer.content.decode()
    return answer["Location"]


def worker(address: str) -> None:
    """What a worker does: the broker of these tests answers nobody."""
    key = address.rstrip("/").rpartition("/")[2]
    told = search.network_search.load(key)
    assert told is not None
    search.network_search.save(told | {"state": "waiting", "error": ""})
    search.search_network(key)


def text(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_the_page_asks_nobody_itself_and_shows_what_a_worker_heard(
    operator: Client, network: Network
) -> None:
    address = ask(operator)
    text(operator, address)
    assert network.asked == []
    worker(address)
    page = text(operator, address)
    # Credits is asked for first, and stands above what was found.
    assert [path for _, path in network.asked] == ["/v1/limits", "/v1/probes"]
    assert "487 of 500 free tests are left this hour, and 9,000 credits" in page
    assert page.index("Credits") < page.index("globalping-jp-tokyo-3320")
    assert re.search(r"<h1>\s*Globalping has 4 places\s*</h1>", page)
    assert not VantagePoint.objects.exists()


def test_while_it_is_asked_the_page_says_so_and_comes_back_without_a_script(
    operator: Client, network: Network
) -> None:
    address = ask(operator)
    told = search.network_search.load(address.rstrip("/").rpartition("/")[2])
    for state, words in (("waiting", "A worker starts"), ("asking", "First credits")):
        search.network_search.save({**told, "state": state, "error": ""})
        page = text(operator, address)
        assert "Globalping is being queried" in page
        assert words in page
        assert 'http-equiv="refresh"' in page
        assert operator.post(address, {"places": ["x"]}).status_code == 422


def test_those_with_a_mark_stand_in_list_and_map_and_may_be_chosen(
    operator: Client, network: Network
) -> None:
    address = ask(operator, count=3)
    worker(address)
    chosen = ["globalping-jp-tokyo-3320", "globalping-de-berlin-3320"]
    answer = operator.post(address, {"places": [*chosen, "globalping-xx-not-found-1"]})
    page = text(operator, answer["Location"])
    assert "2 places can now be selected" in page
    assert page.count("?source=globalping&amp;enlisted=2&amp;point=globalping-jp-tokyo-3320") == 2
    assert commands.working_vantages() == sorted(chosen)
    form = text(operator, "/wide-area/new/")
    assert all(f'value="{name}"' in form for name in chosen)
    assert "Tokyo, JP" in form


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"country": "de"}, ["globalping-de-berlin-24940", "globalping-de-berlin-3320"]),
        ({"city": "são paulo"}, ["globalping-br-sao-paulo-3320"]),
        ({"asn": 24940}, ["globalping-de-berlin-24940"]),
        ({"country": "JP", "asn": 24940}, []),
    ],
)
def test_country_city_and_network_narrow_what_is_found(
    operator: Client, network: Network, asked: dict[str, Any], names: list[str]
) -> None:
    address = ask(operator, **asked)
    worker(address)
    page = text(operator, address)
    assert (
        sorted(
            n
            for n in (
                search.enlistment.name_of("globalping", {**p, "city": p["city"]}) for p in PLACES
            )
            if f'value="{n}"' in page
        )
        == names
    )
    if not names:
        assert "has no probe in JP, AS24940" in page


def test_atlas_is_asked_for_country_and_network_and_says_its_credits(
    operator: Client, network: Network
) -> None:
    network.documents["/api/v2/credits/"] = {"current_balance": 70}
    network.documents["/api/v2/probes/"] = {
        "results": [
            {
                "id": 6123,
                "asn_v4": 3320,
                "country_code": "DE",
                "geometry": {"type": "Point", "coordinates": [13.4, 52.5]},
            }
        ]
    }
    address = ask(operator, network="atlas", country="de", asn=3320)
    worker(address)
    assert "country_code=DE" in network.asked[-1][1]
    assert "asn_v4=3320" in network.asked[-1][1]
    page = text(operator, address)
    assert "The account has 70, and spends 0 a day" in page
    operator.post(address, {"places": ["atlas-6123"]})
    assert VantagePoint.objects.get().detail == {"probe": 6123}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"country": "Germany"}, "Two letters"),
        ({"count": 0}, "greater than or equal to 1"),
        ({"count": 501}, "less than or equal to 500"),
        ({"network": "planetlab"}, "planetlab"),
        ({"network": "atlas", "city": "Berlin"}, "tells no cities"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(
    operator: Client, network: Network, asked: dict[str, Any], said: str
) -> None:
    answer = operator.post(ENLIST, {"network": "globalping", "count": 20, **asked})
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert network.asked == []


def test_a_network_that_fails_is_told_with_its_words_and_what_is_known(
    operator: Client, network: Network
) -> None:
    network.faults["/v1/probes"] = [(403, {}, {"error": {"message": "come back later"}})]
    address = ask(operator)
    worker(address)
    page = text(operator, address)
    assert "Globalping could not list its probes" in page
    assert "Come back later (status 403)" in page
    assert "487 of 500 free tests" in page
    assert operator.post(address, {}).status_code == 422


def test_without_a_worker_it_is_said_at_once(operator: Client, network: Network) -> None:
    assert "No worker can be reached" in text(operator, ask(operator))


def test_a_place_that_was_let_go_is_chosen_no_more_until_it_is_enlisted_again(
    operator: Client, network: Network
) -> None:
    address = ask(operator, country="JP")
    worker(address)
    name = "globalping-jp-tokyo-3320"
    operator.post(address, {"places": [name]})
    operator.post(f"{LIST}{name}/release/")
    assert commands.working_vantages() == []
    assert "is revoked and measures no more" in text(operator, f"{LIST}{name}/")
    operator.post(address, {"places": [name]})
    assert commands.working_vantages() == [name]


def test_only_operators_ask_and_enlist(network: Network, operator: Client) -> None:
    address = ask(operator)
    somebody, stranger = Client(), Client()
    somebody.force_login(get_user_model().objects.create_user("ann", password="x"))
    for where in (ENLIST, address):
        assert stranger.get(where).status_code == 302
        assert somebody.get(where).status_code == 403
        assert somebody.post(where, {}).status_code == 403
    for method in (stranger.post, somebody.post):
        answer = method(API, {"network": "globalping"}, "application/json")
        assert answer.status_code == (401 if method == stranger.post else 403)
    assert operator.get(f"{ENLIST}{'0' * 32}/").status_code == 404
    assert operator.get(f"{API}/..%2F..%2Fetc").status_code == 404


def test_the_api_does_the_same(operator: Client, network: Network) -> None:
    body = {"network": "globalping", "count": 2}
    answer = operator.post(API, body, "application/json")
    assert (answer.status_code, network.asked) == (202, [])
    worker(answer["Location"])
    told = operator.get(answer["Location"]).json()
    assert (told["state"], told["matching"], len(told["places"])) == ("ready", 4, 2)
    assert told["credits"]["free"] == 487
    some = {"names": [told["places"][1]["name"]]}
    made = operator.post(answer["Location"] + "/enlist", some, "application/json")
    assert made.status_code == 201
    assert [r["name"] for r in made.json()["results"]] == some["names"]
    assert operator.post(answer["Location"] + "/enlist", {"names": []}, "application/json").json()[
        "field"
    ]
    wrong = operator.post(API, {**body, "country": "D"}, "application/json")
    assert (wrong.status_code, wrong.json()["field"]) == (422, "country")
