"""Two tenants, a private survey of the first, a public one, and everybody who may come by."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.pages import cast
from webapp.store import sharing, tokens
from webapp.store.models import Campaign
from webapp.store.selectors import reports

# Nothing of these may be in an answer to anybody who is not entitled.
NAME = "Merger with Umbrella"
DOMAIN, HOST = "linkedin.com", "www.linkedin.com"


@dataclass
class Town:
    """The tenants, what the first has, and what opens it."""

    anna: Any
    bert: Any
    private: Campaign
    public: Campaign
    link: str
    other_link: str
    anna_token: str
    bert_token: str

    def client(self, user: Any = None) -> Client:
        client = Client(raise_request_exception=False)
        if user is not None:
            client.force_login(user)
        return client

    def values(self, slug: str) -> dict[str, Any]:
        """Parameters of every route, pointing at a survey."""
        return {
            "slug": slug,
            "before": slug,
            "after": self.public.slug,
            "domain": DOMAIN,
            "name": HOST,
            "page": "regions",
            "table": sorted({*reports(self.private.slug)} & {*reports(self.public.slug)})[0],
            "kind": "csv",
            "kind_of_file": "csv",
        }

    def query(self, name: str) -> dict[str, str]:
        """What a route needs beside its path."""
        asked = {"kind": "region", "provider": "aws", "target": "us-east-1", "value": "us-east-1"}
        if name == "get_outage":
            return asked
        if name in ("proof", "label"):
            return {"kind": "provider", "provider": "aws"}
        return {"dimension": "regions"} if name == "moves" else {}


@pytest.fixture
def town(db: Any, settings: Any, tmp_path: Any) -> Town:
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    make = get_user_model().objects.create_user
    anna, bert = make("anna"), make("bert")
    public, private = cast.empty(), cast.atlas(NAME)
    Campaign.objects.filter(pk=private.pk).update(
        owner=anna, maker=anna, slug="umbrella-0f0f0f0f0f"
    )
    (settings.LAKE_DIR / private.slug).rename(settings.LAKE_DIR / "umbrella-0f0f0f0f0f")
    for campaign in (public, private):
        campaign.refresh_from_db()
    Campaign.objects.filter(pk=public.pk).update(maker=bert)
    links = [sharing.issue(who, c) for who, c in ((anna, private), (bert, public))]
    return Town(
        anna, bert, private, public, *map(sharing.token_of, links),
        tokens.issue(anna, "hers", "write")[1], tokens.issue(bert, "his", "write")[1],
    )  # fmt: skip
