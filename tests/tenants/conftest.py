"""Two tenants, what is private of the first and public of the second, and who may come by."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import pytest
from django.conf import settings as site
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client

from tests.pages import cast
from tests.pages.campaigns import campaign_cast
from webapp.store.access import sharing, tokens
from webapp.store.models import Campaign, Survey
from webapp.store.surveys.selectors import reports

# Nothing of these may be in an answer to anybody who is not entitled.
NAME = "Merger with Umbrella"
DOMAIN, HOST = "linkedin.com", "www.linkedin.com"
# As long as the names of the private things that there are.
PRIVATE, NEVER = "umbrella-0f0f0f0f0f", "umbrella-1e1e1e1e1e"


@dataclass
class Thing:
    """One kind of thing: that of the first tenant, that of the second, and links to them."""

    kind: str
    private: Any
    public: Any
    link: str
    other_link: str


@dataclass
class TenantAccounts:
    """Two tenant accounts, the objects of the first, and its tokens."""

    anna: Any
    bert: Any
    survey: Thing
    campaign: Thing
    anna_token: str
    bert_token: str
    table: str

    @property
    def things(self) -> tuple[Thing, ...]:
        return self.survey, self.campaign

    def client(self, user: Any = None) -> Client:
        client = Client(raise_request_exception=False)
        if user is not None:
            client.force_login(user)
        return client

    def values(self, slug: str, of: str = "survey") -> dict[str, Any]:
        """Parameters of every route, pointing at a thing."""
        is_survey = of != "campaign"
        return {
            "slug": slug,
            "before": slug,
            "after": (self.survey if is_survey else self.campaign).public.slug,
            "domain": DOMAIN,
            "name": HOST,
            "page": "regions",
            "table": self.table if is_survey else "latency-grid.csv",
            "kind": "csv",
            "kind_of_file": "csv",
            "vantage": "v-one",
            "region": "us-east-1",
            "action": "stop",
        }

    def query(self, name: str) -> dict[str, str]:
        """What a route needs beside its path."""
        asked = {"kind": "region", "provider": "aws", "target": "us-east-1"}
        if name == "get_outage":
            return asked
        if name in ("proof", "label"):
            return {"kind": "provider", "provider": "aws"}
        if name in ("get_samples", "get_paths"):
            return {"vantage": "v-one", "region": "us-east-1"}
        return {"dimension": "regions"} if name == "moves" else {}


def _surveys(anna: Any, bert: Any) -> Thing:
    public, private = cast.empty(), cast.atlas(NAME)
    Survey.objects.filter(pk=private.pk).update(owner=anna, maker=anna, slug=PRIVATE)
    (site.LAKE_DIR / private.slug).rename(site.LAKE_DIR / PRIVATE)
    return _shared("survey", private, public, anna, bert)


def _campaigns(anna: Any, bert: Any) -> Thing:
    rows = [campaign_cast.sample("v-one", "us-east-1", [12.5 + n, 13.5], round=n) for n in range(2)]
    public = campaign_cast.campaign("of-everybody", rows)
    private = campaign_cast.campaign(PRIVATE, rows, NAME)
    Campaign.objects.filter(pk=private.pk).update(owner=anna, maker=anna)
    return _shared("campaign", private, public, anna, bert)


def _shared(kind: str, private: Any, public: Any, anna: Any, bert: Any) -> Thing:
    type(public).objects.filter(pk=public.pk).update(maker=bert)
    for thing in (private, public):
        thing.refresh_from_db()
    links = (sharing.token_of(sharing.issue(*pair)) for pair in ((anna, private), (bert, public)))
    return Thing(kind, private, public, *links)


@pytest.fixture(scope="module")
def settled(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TenantAccounts]:
    """The accounts, once for the module: each test's own transaction is within its."""
    folder, before = tmp_path_factory.mktemp("town"), (site.LAKE_DIR, site.UPLOADS_DIR)
    site.LAKE_DIR, site.UPLOADS_DIR = folder / "lake", folder / "uploads"
    with django_db_blocker.unblock(), transaction.atomic():
        make = get_user_model().objects.create_user
        anna, bert = make("anna"), make("bert")
        things = [_surveys(anna, bert), _campaigns(anna, bert)]
        keys = [tokens.issue(who, "theirs", "write")[1] for who in (anna, bert)]
        both = {*reports(PRIVATE)} & {*reports(things[0].public.slug)}
        yield TenantAccounts(anna, bert, *things, *keys, sorted(both)[0])
        transaction.set_rollback(True)
    site.LAKE_DIR, site.UPLOADS_DIR = before


@pytest.fixture
def accounts(settled: TenantAccounts, db: None) -> TenantAccounts:
    """As it was settled, whatever the test before did."""
    for person in (settled.anna, settled.bert):
        person.refresh_from_db()
    return TenantAccounts(**{f.name: getattr(settled, f.name) for f in fields(settled)})
