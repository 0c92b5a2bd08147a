"""What a new installation shows beside its first campaign and survey."""

from typing import Any

import pytest
from django.test import Client

from tasks.audits import demo
from tasks.campaigns import best_sets
from tasks.campaigns.demo import build_demo
from tests.pages import cast
from webapp.store.models import Audit, Recommendation


@pytest.mark.django_db
def test_it_works(client: Client, settings: Any, tmp_path: Any) -> None:
    settings.LAKE_DIR = tmp_path / "lake"
    survey = cast.atlas("Atlas")
    campaign = build_demo(1)
    assert campaign is not None
    assert "See a sample answer" not in client.get("/recommendations/").content.decode()
    made = demo.complete_demo(campaign, survey)
    assert not [line for line in made if line.startswith("not made")]
    assert best_sets.find(campaign, "latency") is not None
    assert Audit.objects.get().survey == survey
    row = Recommendation.objects.get()
    assert row.idempotency_key == demo.sample_key()
    if demo.find_sample():
        assert row.token in client.get("/recommendations/").content.decode()
    assert "bring the mean round-trip time" in client.get("/").content.decode()
