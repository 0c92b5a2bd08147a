"""Every address, opened by everybody: what is somebody's is not there for others.

For a survey of Anna's each stranger gets, byte for byte, what they get for one that never was.
"""

from itertools import product
from typing import Any

import pytest
from django.test import Client

from tasks import deriving
from tests.tenants.conftest import NAME, Town
from tests.tenants.routes import ACCOUNT, MAKER, OPEN, SURVEY, Address, every_address

NEVER = "umbrella-1e1e1e1e1e"  # as long as the name of the survey that there is
OPENED = (200, 202, 302, 405)


def addresses(*kinds: str) -> list[Address]:
    return [a for a in every_address() if a.kind in kinds]


@pytest.fixture(autouse=True)
def indexed(request: pytest.FixtureRequest) -> None:
    """With derived files, so that every address has something to give."""
    if "town" in request.fixturenames:
        deriving.index_survey(request.getfixturevalue("town").private)


def test_every_address_is_in_a_class() -> None:
    unknown = [a.route for a in every_address() if a.kind is None]
    assert not unknown, f"say in tests/tenants/routes.py who may open {unknown}"


def ask(client: Client, method: str, path: str, query: dict[str, str], **headers: str) -> Any:
    if method in ("get", "head"):
        return getattr(client, method)(path, query, headers=headers)
    return getattr(client, method)(
        path, "{}", content_type="application/json", headers=headers, query_params=query
    )


def strangers(town: Town) -> dict[str, tuple[Client, str, dict[str, str]]]:
    """Clients without a right, with what their addresses begin with and their headers."""
    his = f"Bearer {town.bert_token}"
    return {
        "second tenant": (town.client(town.bert), "", {}),
        "nobody": (town.client(), "", {}),
        "a token of the second": (town.client(), "", {"Authorization": his}),
        "a link to another survey": (town.client(), f"/shared/{town.other_link}", {}),
        "owner by a link to another survey": (
            town.client(town.anna), f"/shared/{town.other_link}", {},
        ),
    }  # fmt: skip


@pytest.mark.parametrize("method", ["get", "post"])
def test_strangers_get_what_they_get_for_nothing(town: Town, method: str) -> None:
    faults = []
    for who, (client, prefix, headers) in strangers(town).items():
        for address in addresses(SURVEY, MAKER):
            if headers and not address.is_api:
                continue
            query = town.query(address.name)
            theirs, never = (
                ask(client, method, prefix + address.fill(town.values(slug)), query, **headers)
                for slug in (town.private.slug, NEVER)
            )
            same = theirs.content.replace(town.private.slug.encode(), NEVER.encode())
            refused = (404,) if method == "get" or not prefix else (405,)
            if theirs.status_code not in refused or same != never.content:
                faults.append(f"{who}: {method} {address.route} {theirs.status_code}")
            if told(theirs) != told(never) or NAME.encode() in theirs.content:
                faults.append(f"{who}: {method} {address.route} tells more")
    assert not faults, "\n".join(faults)


def told(answer: Any) -> dict[str, str]:
    """What headers say, but for what differs by the request alone."""
    return {k: v for k, v in answer.headers.items() if k not in ("Content-Length", "Set-Cookie")}


def test_no_other_method_is_a_way_in(town: Town) -> None:
    client = town.client(town.bert)
    for method, address in product(("put", "patch", "delete", "head"), addresses(SURVEY, MAKER)):
        answer = ask(client, method, address.fill(town.values(town.private.slug)), {})
        assert answer.status_code == 404, (method, address.route, answer.status_code)


def test_the_owner_opens_every_address(town: Town) -> None:
    deriving.compare_surveys(town.private, town.public)
    session, program = town.client(town.anna), town.client()
    for address in addresses(SURVEY, MAKER):
        path = address.fill(town.values(town.private.slug))
        query = town.query(address.name)
        answer = ask(session, "get", path, query)
        assert answer.status_code in OPENED, (address.route, answer.status_code)
        if address.is_api:
            bearer = {"Authorization": f"Bearer {town.anna_token}"}
            answer = ask(program, "get", path, query, **bearer)
            assert answer.status_code in OPENED, (address.route, answer.status_code)


def test_a_link_opens_every_address_of_its_survey_to_be_read(town: Town) -> None:
    client, prefix = town.client(), f"/shared/{town.link}"
    for address in addresses(SURVEY):
        if "before" in address.route:
            continue  # one survey is all that there is
        path = prefix + address.fill(town.values(town.private.slug))
        answer = ask(client, "get", path, town.query(address.name))
        assert answer.status_code in OPENED, (address.route, answer.status_code)
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        for method in ("post", "put", "patch", "delete"):
            assert ask(client, method, path, {}).status_code == 405, (method, address.route)
        if answer.status_code == 200 and "html" in answer["Content-Type"]:
            leads = answer.content.decode().split('href="')[1:]
            outside = [h.partition('"')[0] for h in leads if h.startswith(("/s/", "/api/v1/s"))]
            assert not outside, (address.route, outside)


def test_a_link_opens_nothing_else(town: Town) -> None:
    client, prefix = town.client(town.anna), f"/shared/{town.link}"
    for address in every_address():
        if address.kind == SURVEY or address.route in ("", "search/", "about/"):
            continue
        path = prefix + address.fill(town.values(town.private.slug))
        assert client.get(path).status_code == 404, address.route


def test_what_is_open_says_nothing_of_it(town: Town) -> None:
    clients = [town.client(town.bert), town.client()]
    secrets = (NAME, town.private.slug, "hao123.com")
    for client, address in product(clients, addresses(OPEN)):
        values = {**town.values(town.private.slug), "name": "none"}
        slug = {"survey": town.private.slug, "before": town.private.slug, "after": town.public.slug}
        # Elsewhere an echo of the query would be taken for something told.
        query = slug if address.name in ("search", "compare") else {}
        answer = client.get(address.fill(values), query)
        body = answer.content.decode() + answer.get("Location", "")
        found = [s for s in secrets if s in body]
        assert not found, (address.route, found)


def test_accounts_are_for_those_who_have_one(town: Town) -> None:
    client = town.client()
    for address in addresses(ACCOUNT):
        answer = client.get(address.fill(town.values("none")))
        if address.route.startswith(("account/", "api/")):
            is_api = address.is_api
            assert answer.status_code == (401 if is_api else 302), address.route
            assert is_api or answer["Location"].startswith("/sign-in/?next=")


def test_every_form_needs_its_token(town: Town) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(town.anna)
    for address in every_address():
        path = address.fill(town.values(town.private.slug))
        answer = client.post(path, "{}", content_type="application/json")
        assert answer.status_code in (403, 404, 405), (address.route, answer.status_code)
