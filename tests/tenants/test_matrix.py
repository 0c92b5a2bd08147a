"""Every address, opened by every kind of visitor: private data is not found by others.

For a thing of Anna's each stranger gets, byte for byte, what they get for one that never was.
"""

import re
from itertools import product
from typing import Any

import pytest
from django.test import Client

from tasks.surveys import derived
from tests.tenants.conftest import NAME, NEVER, PRIVATE, TenantAccounts
from tests.tenants.organisation_cast import Umbrella, sign_in
from tests.tenants.routes import ACCOUNT, MAKER, OPEN, SHOWN, Address, every_address
from webapp.store.access import organisations
from webapp.store.models import Survey

OPENED = (200, 202, 302, 405)
KINDS = pytest.mark.parametrize("kind", ["survey", "campaign", "audit"])


def addresses(*classes: str, of: str = "") -> list[Address]:
    return [a for a in every_address() if a.kind in classes and of in ("", a.of)]


@pytest.fixture(scope="module", autouse=True)
def indexed(settled: TenantAccounts) -> None:
    """With derived files, so that every address has something to give."""
    derived.index_survey(settled.survey.private)
    derived.compare_surveys(settled.survey.private, settled.survey.public)


def test_every_address_is_in_a_class() -> None:
    unknown = [a.route for a in every_address() if a.kind is None]
    assert not unknown, f"say in tests/tenants/routes.py who may open {unknown}"


def ask(client: Client, method: str, path: str, query: dict[str, str], **headers: str) -> Any:
    if method in ("get", "head"):
        return getattr(client, method)(path, query, headers=headers)
    return getattr(client, method)(
        path, "{}", content_type="application/json", headers=headers, query_params=query
    )


def strangers(accounts: TenantAccounts, kind: str) -> dict[str, tuple[Client, str, dict[str, str]]]:
    """Clients without a right, with what their addresses begin with and their headers."""
    his = f"Bearer {accounts.bert_token}"
    own = getattr(accounts, kind)
    other, another = own, next(thing for thing in accounts.things if thing.kind != kind)
    return {
        "second tenant": (accounts.client(accounts.bert), "", {}),
        "nobody": (accounts.client(), "", {}),
        "a token of the second": (accounts.client(), "", {"Authorization": his}),
        "a link to another": (accounts.client(), f"/shared/{other.other_link}", {}),
        "owner by a link to a thing of another kind": (
            accounts.client(accounts.anna),
            f"/shared/{another.link}",
            {},
        ),
    }


@KINDS
@pytest.mark.parametrize("method", ["get", "post"])
def test_strangers_get_what_they_get_for_nothing(
    accounts: TenantAccounts, method: str, kind: str
) -> None:
    faults = []
    for who, (client, prefix, headers) in strangers(accounts, kind).items():
        for address in addresses(SHOWN, MAKER, of=kind):
            if headers and not address.is_api:
                continue
            query = accounts.query(address.name)
            theirs, never = (
                ask(
                    client,
                    method,
                    prefix + address.fill(accounts.values(slug, kind)),
                    query,
                    **headers,
                )
                for slug in (PRIVATE, NEVER)
            )
            same = theirs.content.replace(PRIVATE.encode(), NEVER.encode())
            refused = (404,) if method == "get" or not prefix else (405,)
            # What takes an account says so, whether there is such a thing or not.
            refused += (401,) if who == "nobody" and address.is_api else ()
            if theirs.status_code not in refused or same != never.content:
                faults.append(f"{who}: {method} {address.route} {theirs.status_code}")
            if told(theirs) != told(never) or NAME.encode() in theirs.content:
                faults.append(f"{who}: {method} {address.route} tells more")
    assert not faults, "\n".join(faults)


def told(answer: Any) -> dict[str, str]:
    """What headers say, but for what differs by the request alone."""
    own = ("Content-Length", "Set-Cookie", "X-Request-ID")
    return {k: v for k, v in answer.headers.items() if k not in own}


def test_no_other_method_is_a_way_in(accounts: TenantAccounts) -> None:
    client = accounts.client(accounts.bert)
    for method, address in product(("put", "patch", "delete", "head"), addresses(SHOWN, MAKER)):
        answer = ask(client, method, address.fill(accounts.values(PRIVATE, address.of)), {})
        assert answer.status_code == 404, (method, address.route, answer.status_code)


def test_the_owner_opens_every_address(accounts: TenantAccounts) -> None:
    session, program = accounts.client(accounts.anna), accounts.client()
    for address in addresses(SHOWN, MAKER):
        path = address.fill(accounts.values(PRIVATE, address.of))
        query = accounts.query(address.name)
        answer = ask(session, "get", path, query)
        assert answer.status_code in OPENED, (address.route, answer.status_code)
        if address.is_api:
            bearer = {"Authorization": f"Bearer {accounts.anna_token}"}
            answer = ask(program, "get", path, query, **bearer)
            assert answer.status_code in OPENED, (address.route, answer.status_code)


@KINDS
def test_a_link_opens_every_address_of_its_thing_to_be_read(
    accounts: TenantAccounts, kind: str
) -> None:
    client, prefix = accounts.client(), f"/shared/{getattr(accounts, kind).link}"
    for address in addresses(SHOWN, of=kind):
        if "before" in address.route:
            continue  # one thing is all that there is
        path = prefix + address.fill(accounts.values(PRIVATE, kind))
        answer = ask(client, "get", path, accounts.query(address.name))
        assert answer.status_code in OPENED, (address.route, answer.status_code)
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        assert re.search("no-store|private", answer["Cache-Control"])
        for method in ("post", "put", "patch", "delete"):
            assert ask(client, method, path, {}).status_code == 405, (method, address.route)
        if answer.status_code == 200 and "html" in answer["Content-Type"]:
            assert not leading_out(answer.content.decode(), prefix), address.route


def leading_out(page: str, prefix: str) -> list[str]:
    """Addresses in a page that do not keep to the link that it was opened by."""
    leads = [part.partition('"')[0] for part in page.replace('action="', 'href="').split('href="')]
    return [
        h
        for h in leads[1:]
        if h.startswith("/") and not h.startswith((prefix, "/static/", "/api/v1/docs"))
    ]


@KINDS
def test_a_link_opens_nothing_else(accounts: TenantAccounts, kind: str) -> None:
    client, prefix = accounts.client(accounts.anna), f"/shared/{getattr(accounts, kind).link}"
    fronts = {
        "survey": ("", "search/", "about/"),
        "campaign": ("", "about/"),
        "audit": ("", "about/"),
    }[kind]
    for address in every_address():
        is_shown = address.kind == SHOWN and address.of == kind and "before" not in address.route
        if is_shown or address.route in (*fronts, "wide-area/", "audits/"):
            continue
        path = prefix + address.fill(accounts.values(PRIVATE, address.of))
        assert client.get(path).status_code == 404, address.route


def test_what_is_open_says_nothing_of_it(accounts: TenantAccounts) -> None:
    clients = [accounts.client(accounts.bert), accounts.client()]
    secrets = (NAME, PRIVATE, "hao123.com")
    for client, address in product(clients, addresses(OPEN)):
        values = {**accounts.values(PRIVATE), "name": "none"}
        slug = {"survey": PRIVATE, "before": PRIVATE, "after": accounts.survey.public.slug}
        # Elsewhere an echo of the query would be taken for something told.
        query = slug if address.name in ("search", "compare", "campaigns-compare") else {}
        answer = client.get(address.fill(values), query)
        body = answer.content.decode() + answer.get("Location", "")
        found = [s for s in secrets if s in body]
        assert not found, (address.route, found)


def test_accounts_are_for_those_who_have_one(accounts: TenantAccounts) -> None:
    client = accounts.client()
    for address in addresses(ACCOUNT):
        answer = client.get(address.fill(accounts.values("none")))
        if address.route.startswith(("account/", "api/")):
            is_api = address.is_api
            assert answer.status_code == (401 if is_api else 302), address.route
            assert is_api or answer["Location"].startswith("/sign-in/?next=")


def test_every_form_needs_its_token(accounts: TenantAccounts) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(accounts.anna)
    for address in every_address():
        path = address.fill(accounts.values(PRIVATE, address.of))
        answer = client.post(path, "{}", content_type="application/json")
        assert answer.status_code in (403, 404, 405), (address.route, answer.status_code)


@pytest.fixture
def umbrella(accounts: TenantAccounts) -> Umbrella:
    """With everything private of Anna."""
    found = Umbrella(accounts.anna, accounts.bert)
    for thing in accounts.things:
        organisations.add_object(found.owner, thing.kind, thing.private.slug)
    return found


def test_a_viewer_reads_every_address_and_changes_none(
    accounts: TenantAccounts, umbrella: Umbrella
) -> None:
    client = umbrella.client("viewer")
    faults = []
    for address in addresses(SHOWN, MAKER):
        path = address.fill(accounts.values(PRIVATE, address.of))
        code = ask(client, "get", path, accounts.query(address.name)).status_code
        # Who sees a campaign may plan one of the same kind.
        is_read = address.kind == SHOWN or "clone" in address.route
        expected = (200, 202, 302, 405) if is_read else (403, 404, 405)
        if code not in expected:
            faults.append(f"get {address.route} {code}")
        if address.kind == MAKER and "clone" not in address.route:
            code = ask(client, "post", path, {}).status_code
            faults += [f"post {address.route} {code}"] if code not in (403, 404, 405) else []
    assert not faults, "\n".join(faults)
    assert Survey.objects.get(slug=PRIVATE).owner == accounts.anna


def test_members_of_another_organisation_and_former_members_open_nothing(
    accounts: TenantAccounts, umbrella: Umbrella
) -> None:
    former = umbrella.by_role["member"]
    user = former.user
    organisations.remove_member(umbrella.owner, former)
    faults = []
    for client in (sign_in(accounts.bert), sign_in(user)):
        for address in addresses(SHOWN, MAKER):
            theirs, never = (
                ask(
                    client,
                    "get",
                    address.fill(accounts.values(slug, address.of)),
                    accounts.query(address.name),
                )
                for slug in (PRIVATE, NEVER)
            )
            same = theirs.content.replace(PRIVATE.encode(), NEVER.encode()) == never.content
            if theirs.status_code != 404 or not same or told(theirs) != told(never):
                faults.append(f"{address.route} {theirs.status_code}")
        for path in (umbrella.path(), "/account/organisations/none/"):
            assert client.get(path).status_code == 404
        for action in ("invite", "add-object", "delete", "remove-member", "change-role"):
            assert client.post(umbrella.path(action)).status_code == 404
        assert NAME not in client.get("/surveys/").content.decode()
    assert not faults, "\n".join(faults)
