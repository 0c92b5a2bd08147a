"""Surveys that get their shards one by one, beside a sweep that closes complete surveys."""

from typing import Any

import pytest

from core.records import DomainEntry
from core.statuses import SurveyState
from tasks.surveys import celery_tasks, shard_run
from webapp.store.models import Report, Survey
from webapp.store.surveys import external


@pytest.fixture
def observed(db: None, settings: Any, tmp_path: Any) -> Survey:
    """Three domains, of which no shard is there yet."""
    settings.UPLOADS_DIR, settings.LAKE_DIR = tmp_path / "uploads", tmp_path / "lake"
    entries = [DomainEntry(f"d{i}.example", i, i) for i in (1, 2, 3)]
    return external.open_observed("Observed", entries, external.Origin("a world", []), {})


def test_it_works(observed: Survey) -> None:
    """A survey whose last shard is missing is not complete, whatever its others are."""
    seen = []
    for number, span in enumerate([None, (0, 2), (2, 3)]):
        if span:
            external.add_shard(observed, f"s{number}", span, {}, {})
        seen.append(shard_run.is_complete(observed))
    assert seen == [False, False, True]


def test_a_sweep_closes_no_survey_without_its_shards(
    observed: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        celery_tasks, "queue_unless_queued", lambda task, number, attempt=0: task(number)
    )
    celery_tasks.requeue_lost()
    observed.refresh_from_db()
    assert observed.state == SurveyState.RUNNING
    assert not Report.objects.filter(survey=observed).exists()
