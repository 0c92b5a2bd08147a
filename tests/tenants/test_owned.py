"""Recommendations and pools of one tenant, asked for by another."""

from typing import Any

import pytest
from django.test import Client

from tests.tenants.conftest import POLICY, TenantAccounts
from tests.tenants.routes import OWNED, every_address
from webapp.store.audits import lists, policies
from webapp.store.models import (
    AuditSuppression,
    Beacon,
    Pool,
    PoolInstance,
    Recommendation,
    SavedList,
    SavedPolicy,
    TrafficUpload,
)
from webapp.store.recommendations import beacons
from webapp.store.traffic import services as uploads
from webapp.store.traffic.services import SentFile

MARK = "Secret of Anna"


@pytest.fixture
def hers(accounts: TenantAccounts) -> dict[str, Any]:
    """Parameters of routes that lead to what is Anna's, by the parameter."""
    answer = Recommendation.objects.create(
        token="hers-0123456789", owner=accounts.anna, title=MARK, survey=accounts.survey.private
    )
    pool = Pool.objects.create(key="aaaabbbbcccc", owner=accounts.anna, name=MARK)
    machine = PoolInstance.objects.create(pool=pool, name=MARK)
    saved = lists.create_list(accounts.anna, MARK, b"secret.example\n")
    policy = policies.create_policy(accounts.anna, MARK, POLICY)
    given = {"rule": "single-region", "subject": "*", "reason": MARK, "owner": MARK}
    accepted = policies.create_suppression(accounts.anna, {**given, "expires": "2099-01-01"})
    beacon = beacons.create(
        accounts.anna, beacons.Settings(MARK, {"r": "https://a.example/"}, ["https://b.example"])
    )
    sent = [SentFile(f"{MARK}.log", [b"#path\tconn\n"])]
    capture = uploads.create(accounts.anna, MARK, sent, {})
    return {
        "name": capture.slug,
        "beacon": beacon.key,
        "list": saved.slug,
        "policy": policy.slug,
        "number": accepted.pk,
        "token": answer.token,
        "other": answer.token,
        "key": pool.key,
        "pk": machine.pk,
        "kind": "csv",
        "report_id": "r",
        "instance": machine.pk,
        "log": "l",
        "section": "s",
    }


def named_by(route: str, hers: dict[str, Any]) -> dict[str, Any]:
    """The parameters of one route; several routes call theirs alike."""
    if "policies/" in route:
        return {**hers, "slug": hers["policy"], "key": hers["policy"]}
    if "lists/" in route:
        return {**hers, "slug": hers["list"], "key": hers["list"]}
    if "beacons/" in route:
        return {**hers, "key": hers["beacon"]}
    return {**hers, "pk": hers["number"]} if "suppressions/" in route else hers


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
def test_what_is_owned_is_not_there_for_others(
    accounts: TenantAccounts, hers: dict[str, Any], method: str
) -> None:
    bearer = {"Authorization": f"Bearer {accounts.bert_token}"}
    askers = [(accounts.client(accounts.bert), {}), (Client(), {}), (Client(), bearer)]
    faults = []
    for client, headers in askers:
        for address in every_address():
            if address.kind != OWNED or (headers and not address.is_api):
                continue
            answer = getattr(client, method)(
                address.fill(named_by(address.route, hers)),
                "{}" if method != "get" else None,
                content_type="application/json",
                headers=headers,
            )
            is_named = any(
                f":{name}>" in address.route or f"<{name}>" in address.route
                for name in ("token", "key", "slug", "number")
            )
            is_shut = answer.status_code in (302, 401, 403, 404, 405, 422)
            if (is_named and not is_shut) or MARK.encode() in answer.content:
                faults.append(f"{method} {address.route} {answer.status_code}")
    assert not faults, "\n".join(faults)
    kept = Recommendation.objects.get(owner=accounts.anna)
    assert (kept.title, kept.is_shared) == (MARK, False)
    assert Pool.objects.get(owner=accounts.anna).name == MARK
    assert SavedList.objects.get(owner=accounts.anna).name == MARK
    assert SavedPolicy.objects.get(owner=accounts.anna).name == MARK
    assert AuditSuppression.objects.get(owner=accounts.anna).reason == MARK
    assert TrafficUpload.objects.get(owner=accounts.anna).name == MARK
    assert Beacon.objects.get(owner=accounts.anna).name == MARK
