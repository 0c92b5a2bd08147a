"""Schedules, alert endpoints and their logs of one tenant, asked for by everybody else."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.tasks.schedules import cast
from tests.tenants.conftest import TenantAccounts
from tests.tenants.routes import Address, every_address
from webapp.store.access import tokens
from webapp.store.models import AlertDelivery, AlertEndpoint, Schedule, ScheduleRun

MARK, SECRET_HOST = "Secret of Anna", "secret-of-anna.example.com"
NEVER = "never-was-0123456789"
METHODS = ("get", "post", "put", "patch", "delete", "head")
OURS = re.compile(r"(api/v1/)?(schedules|alerts|alert-endpoints)/")


@pytest.fixture
def hers(accounts: TenantAccounts) -> dict[str, Any]:
    """A schedule with a run and an event, and an endpoint with a delivery, of Anna."""
    schedule = cast.schedule(accounts.anna, MARK)
    endpoint = cast.endpoint(accounts.anna, f"https://{SECRET_HOST}/hook", name=MARK)
    cast.happen(schedule, 0, cast.change(f"{SECRET_HOST}"))
    message = AlertDelivery.objects.get().message_id
    return {"schedule": schedule.slug, "endpoint": endpoint.slug, "message_id": message}


def addresses() -> list[Address]:
    found = [a for a in every_address() if OURS.match(a.route) and "<" in a.route]
    assert len(found) >= 14
    return found


def fill(address: Address, things: dict[str, Any], action: str = "delete") -> str:
    is_schedule = "schedules/" in address.route
    slug = things["schedule" if is_schedule else "endpoint"]
    values = {"key": slug, "slug": slug, "action": action, "token": "x:y:z"}
    return address.fill(values | {"message_id": things["message_id"]})


def ask(client: Client, method: str, path: str, headers: dict[str, str]) -> Any:
    if method in ("get", "head"):
        return getattr(client, method)(path, headers=headers)
    return getattr(client, method)(path, "{}", content_type="application/json", headers=headers)


def count() -> tuple[int, ...]:
    models = (Schedule, ScheduleRun, AlertEndpoint, AlertDelivery)
    return tuple(model._default_manager.count() for model in models)


def test_others_get_what_they_get_for_nothing(
    accounts: TenantAccounts, hers: dict[str, Any]
) -> None:
    bearer = {"Authorization": f"Bearer {accounts.bert_token}"}
    link = f"/shared/{accounts.survey.link}"
    strangers = [
        ("second tenant", accounts.client(accounts.bert), "", {}),
        ("nobody", accounts.client(), "", {}),
        ("a token of the second", accounts.client(), "", bearer),
        ("a link to a survey of hers", accounts.client(), link, {}),
    ]
    never = dict.fromkeys(hers, NEVER)
    before, faults = count(), []
    for who, client, prefix, headers in strangers:
        for address in addresses():
            if headers and not address.is_api:
                continue
            for method in METHODS:
                paths = [prefix + fill(address, things) for things in (hers, never)]
                theirs, nothing = (ask(client, method, path, headers) for path in paths)
                content = theirs.content
                for own in hers.values():
                    content = content.replace(own.encode(), NEVER.encode())
                same = content == nothing.content and theirs.status_code == nothing.status_code
                is_shut = theirs.status_code in (302, 401, 403, 404, 405, 422)
                told = MARK.encode() in theirs.content or SECRET_HOST.encode() in theirs.content
                if not same or not is_shut or told:
                    faults.append(f"{who}: {method} {address.route} {theirs.status_code}")
    assert not faults, "\n".join(faults)
    assert count() == before


def test_lists_hold_only_ones_own(accounts: TenantAccounts, hers: dict[str, Any]) -> None:
    lists = ("/schedules/", "/alerts/", "/api/v1/schedules", "/api/v1/alert-endpoints")
    for client in (accounts.client(accounts.bert), accounts.client()):
        for path in lists:
            body = client.get(path).content
            assert MARK.encode() not in body
            assert SECRET_HOST.encode() not in body
    own = accounts.client(accounts.anna)
    assert all(MARK.encode() in own.get(path).content for path in lists)


def test_the_owner_opens_every_address(accounts: TenantAccounts, hers: dict[str, Any]) -> None:
    session, program = accounts.client(accounts.anna), accounts.client()
    for address in addresses():
        if "confirm" in address.route:
            continue
        path = fill(address, hers)
        assert session.get(path).status_code in (200, 405), address.route
        if address.is_api:
            bearer = {"Authorization": f"Bearer {accounts.anna_token}"}
            assert program.get(path, headers=bearer).status_code in (200, 405), address.route


def test_a_token_that_may_only_read_changes_nothing(
    accounts: TenantAccounts, hers: dict[str, Any]
) -> None:
    reader = {"Authorization": f"Bearer {tokens.issue(accounts.anna, 'r', 'read')[1]}"}
    before = count()
    for address in addresses():
        if not address.is_api:
            continue
        for method in ("post", "put", "patch", "delete"):
            answer = ask(accounts.client(), method, fill(address, hers), reader)
            assert answer.status_code == 403, (method, address.route)
    assert count() == before


def test_schedules_of_others_cannot_be_named(
    accounts: TenantAccounts, hers: dict[str, Any]
) -> None:
    bearer = {"Authorization": f"Bearer {accounts.bert_token}"}
    asked = {"name": "x", "target": "https://example.com/", "schedule": hers["schedule"]}
    answer = accounts.client().post(
        "/api/v1/alert-endpoints", asked, content_type="application/json", headers=bearer
    )
    assert (answer.status_code, answer.json()["field"]) == (422, "schedule")


def test_what_is_private_of_others_cannot_recur(accounts: TenantAccounts) -> None:
    bearer = {"Authorization": f"Bearer {accounts.bert_token}"}
    for kind, thing in (("survey", accounts.survey), ("campaign", accounts.campaign)):
        asked = {
            "name": "x",
            "kind": kind,
            "request": {kind: thing.private.slug},
            "cron": "0 3 * * *",
        }
        answer = accounts.client().post(
            "/api/v1/schedules", asked, content_type="application/json", headers=bearer
        )
        assert answer.status_code == 422, kind
        assert "there is no" in answer.json()["detail"]
