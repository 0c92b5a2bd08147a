"""Celery tasks that build derived files, and how pages request them.

Asking queues a task once; its progress is in ``webapp.store.surveys.derived``. No page ever makes a
derived file itself.
"""

import logging

from celery import Task

from tasks.platform.app import AWAY, app, queue
from tasks.surveys.derived import compare_surveys, index_survey
from webapp.store.models import Survey
from webapp.store.surveys import derived

log = logging.getLogger(__name__)


@app.task(name="tasks.errands.index")
def index(survey_id: int) -> None:
    """Run ``index_survey``."""
    index_survey(Survey.objects.get(pk=survey_id))


@app.task(name="tasks.errands.changes")
def changes(before_id: int, after_id: int) -> None:
    """Run ``compare_surveys``."""
    compare_surveys(Survey.objects.get(pk=before_id), Survey.objects.get(pk=after_id))


def request_index(survey: Survey) -> None:
    """Have the index made by a worker, unless it exists, is under way or has failed."""
    place = derived.index_of(survey)
    if survey.is_final and place.state()["state"] == derived.MISSING:
        _queue(place, index, survey.pk)


def request_comparison(before: Survey, after: Survey, again: bool = False) -> None:
    """The same for a comparison; ``again`` also after a failure."""
    place = derived.comparison_of(before, after)
    wanted = (derived.MISSING, derived.FAILED) if again else (derived.MISSING,)
    if place.state()["state"] in wanted:
        _queue(place, changes, before.pk, after.pk)


def _queue(place: derived.Derived, task: Task, *ids: int) -> None:
    try:
        queue(task, *ids)
        place.write_progress(derived.WAITING, "waiting for a worker")
    except AWAY as error:
        place.write_progress(
            derived.FAILED, error="no worker can be reached, since their queue is away"
        )
        log.warning("%s waits for the broker: %s", place.folder.name, error)
