"""The public comparison of instance types: who counts, what is shown, and withdrawal."""

import csv
import io
import random
import time

import pytest
from django.test import Client

from tasks.screening import type_comparison
from tasks.screening.emulated_reports import build_report
from tests.pages.screening.screening_cast import make_person, make_pool, send
from webapp.store.accounts import deletion
from webapp.store.models import Pool, PublishedType

PAGE, API = "/screening/instance-types/", "/api/v1/screening/instance-types"
HOST = {"provider": "aws", "instance_type": "m5.large", "region": "us-east-1"}


def pool_of(name, machines, **settings):
    """A pool of a new account; a third of its machines are bad."""
    rng, person = random.Random(name), make_person(name)
    made = make_pool(person, f"Secret of {name}", **settings)
    kinds = ["steal" if n % 3 == 0 else "quiet" for n in range(machines)]
    reports = [
        build_report(f"{name}-{n}", kind, time.time() - 60, rng, cpus=1, **HOST)
        for n, kind in enumerate(kinds)
    ]
    send(made, reports)
    return person, made


@pytest.fixture
def tenants(db):
    return {name: pool_of(name, 8, contributes=True) for name in ("anna", "bert", "cleo")}


def rows():
    answer = Client().get(API)
    assert answer.status_code == 200, answer.content
    return answer.json()["rows"]


def test_it_works(tenants):
    pool_of("dora", 8)
    type_comparison.refresh()
    (row,) = rows()
    assert (row["provider"], row["instance_type"]) == ("aws", "m5.large")
    # Dora's pool does not contribute.
    assert (row["n"], row["tenants"], row["good"]) == (24, 3, 15)
    assert row["low"] < row["share"] < row["high"]
    text = Client().get(PAGE).content.decode()
    assert "m5.large" in text
    assert "15 of 24" in text
    assert "Secret" not in text
    (line,) = csv.DictReader(
        io.StringIO(Client().get("/screening/instance-types.csv").content.decode())
    )
    assert (line["group"], line["n"]) == ("m5.large", "24")


def test_one_account_more_changes_no_figure_and_three_do(tenants):
    type_comparison.refresh()
    (before,) = rows()
    pool_of("dora", 5, contributes=True)
    type_comparison.refresh()
    assert rows() == [before]
    for name in ("elia", "fred"):
        pool_of(name, 5, contributes=True)
    type_comparison.refresh()
    assert rows()[0]["tenants"] == 6


@pytest.mark.parametrize("how", ["page", "api", "pool", "account"])
def test_who_withdraws_is_no_longer_shown(tenants, how):
    type_comparison.refresh()
    person, made = tenants["cleo"]
    client = Client()
    client.force_login(person)
    if how == "page":
        path = f"/screening/pools/{made.key}/settings/"
        assert "checked" in client.get(path).content.decode()
        assert client.post(path, {"name": "Ours"}).status_code == 302
    elif how == "api":
        body = {"contributes": False}
        path = f"/api/v1/screening/pools/{made.key}"
        answer = client.patch(path, body, content_type="application/json")
        assert answer.json()["contributes"] is False
    elif how == "pool":
        client.delete(f"/api/v1/screening/pools/{made.key}")
    else:
        deletion.remove_account(person)
    assert rows() == []
    assert "m5.large" not in Client().get(PAGE).content.decode()
    type_comparison.refresh()
    assert rows() == []


def test_without_enough_accounts_nothing_is_shown(db):
    for name in ("anna", "bert"):
        pool_of(name, 15, contributes=True)
    type_comparison.refresh()
    assert rows() == []
    assert not PublishedType.objects.exists()
    assert "Nothing is published yet" in Client().get(PAGE).content.decode()


def test_pools_count_only_after_a_choice(db):
    _, made = pool_of("anna", 2)
    assert Pool.objects.get(key=made.key).contributes is False
