"""Two tenants, what is private of the first and public of the second, and who may come by."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import pytest
from django.conf import settings as site
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client

from core.records import DomainEntry
from core.statuses import SurveyState
from tasks.audits import stored_audit
from tasks.audits.submission import NewAudit, start_audit
from tests.pages import cast
from tests.pages.campaigns import campaign_cast
from webapp.store.access import sharing, tokens
from webapp.store.audits import findings, services
from webapp.store.models import Audit, Campaign, Survey
from webapp.store.surveys.selectors import reports
from webapp.store.surveys.services import Requester
from webapp.store.surveys.uploads import save_entries

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
    audit: Thing
    anna_token: str
    bert_token: str
    table: str

    @property
    def things(self) -> tuple[Thing, ...]:
        return self.survey, self.campaign, self.audit

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
            "row": 0,
            "kind_of_file": "csv",
            "vantage": "v-one",
            "region": "us-east-1",
            "probe": "ping",
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
    # Its package holds the list and the range files, which the cast has only as rows.
    save_entries(PRIVATE, [DomainEntry(DOMAIN, 1, 1)])
    private.range_tables.clear()
    return _shared("survey", private, public, anna, bert)


def _campaigns(anna: Any, bert: Any) -> Thing:
    rows = [campaign_cast.sample("v-one", "us-east-1", [12.5 + n, 13.5], round=n) for n in range(2)]
    public = campaign_cast.campaign("of-everybody", rows)
    private = campaign_cast.campaign(PRIVATE, rows, NAME)
    Campaign.objects.filter(pk=private.pk).update(owner=anna, maker=anna)
    return _shared("campaign", private, public, anna, bert)


POLICY = b"""version = 1
name = "own"
[data]
max_age_days = 100000
[rules.single-region]
[rules.single-dns-operator]
"""


def _audits(anna: Any, bert: Any, private: Any, public: Any) -> Thing:
    """An audit of each survey, judged."""
    rows = []
    for who, survey, name in ((anna, private, NAME), (bert, public, "Open")):
        maker = Requester(user=who, is_public=who is bert)
        asked = NewAudit(survey=survey.slug, policy_document=POLICY, name=name)
        Survey.objects.filter(pk=survey.pk).update(state=SurveyState.FINISHED)
        row = services.claim(start_audit(asked, maker).pk)
        assert row is not None
        assert stored_audit.run(row, in_worker=False), row.error
        rows.append(row)
    Audit.objects.filter(pk=rows[0].pk).update(slug=PRIVATE)
    findings.folder_of(rows[0].slug).rename(findings.folder_of(PRIVATE))
    return _shared("audit", *rows, anna, bert)


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
    folder = tmp_path_factory.mktemp("town")
    before = site.LAKE_DIR, site.UPLOADS_DIR, site.DATA_DIR
    site.LAKE_DIR, site.UPLOADS_DIR, site.DATA_DIR = folder / "lake", folder / "uploads", folder
    with django_db_blocker.unblock(), transaction.atomic():
        make = get_user_model().objects.create_user
        anna, bert = make("anna"), make("bert")
        surveys = _surveys(anna, bert)
        audits = _audits(anna, bert, surveys.private, surveys.public)
        things = [surveys, _campaigns(anna, bert), audits]
        keys = [tokens.issue(who, "theirs", "write")[1] for who in (anna, bert)]
        both = {*reports(PRIVATE)} & {*reports(things[0].public.slug)}
        yield TenantAccounts(anna, bert, *things, *keys, sorted(both)[0])
        transaction.set_rollback(True)
    site.LAKE_DIR, site.UPLOADS_DIR, site.DATA_DIR = before


@pytest.fixture
def accounts(settled: TenantAccounts, db: None) -> TenantAccounts:
    """As it was settled, whatever the test before did."""
    for person in (settled.anna, settled.bert):
        person.refresh_from_db()
    return TenantAccounts(**{f.name: getattr(settled, f.name) for f in fields(settled)})
