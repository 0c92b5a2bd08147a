"""Celery tasks of surveys: they carry shard ids and are idempotent."""

import logging

from core.errors import NephoscopeError, Unavailable
from core.statuses import SurveyState
from crawlers.engine.rate_limit import Pace
from tasks.platform.app import app
from tasks.platform.leased_rows import queue_lost, queue_unless_queued
from tasks.platform.log_context import add_log_fields
from tasks.resolution.engine_factory import Resolving
from tasks.resolution.shared_rate_limit import pace_for
from tasks.surveys import domain_records, second_pass, shard_run
from webapp.store.models import Survey
from webapp.store.surveys import services, waiting

log = logging.getLogger(__name__)


@app.task(name="tasks.crawl.start")
def start(survey_id: int) -> None:
    """Prepare a survey and queue its shards."""
    survey = Survey.objects.get(pk=survey_id)
    add_log_fields(survey=survey.slug)
    if survey.is_final:
        return
    try:
        shard_run.prepare(survey, _pace(survey))
    except NephoscopeError as error:
        if error.permanent:
            services.fail(survey, str(error))
        else:
            waiting.save_error(survey, str(error))
        log.warning("survey %s did not start: %s", survey.slug, error)
        return
    _hand_out(survey_id)


def _hand_out(survey_id: int) -> None:
    for shard_id in waiting.lease_for_queue(survey_id):
        crawl_shard.delay(shard_id)


@app.task(name="tasks.crawl.crawl_shard")
def crawl_shard(shard_id: int) -> None:
    """Run one shard unless another worker has it; the last one queues the report."""
    shard = services.claim(shard_id)
    if shard is None:
        return
    add_log_fields(survey=shard.survey.slug)
    # The next ones stand behind whatever else waits in the queue by now.
    _hand_out(shard.survey_id)
    if shard.attempt > services.MAX_ATTEMPTS:
        # It may be the shard that ends its workers, by the memory that it takes.
        services.fail_shard(shard, "its workers ended repeatedly")
        ended = False
    else:
        ended = shard_run.run_shard(shard, _pace(shard.survey))
    log.info("survey %s shard %s ended=%s", shard.survey.slug, shard.key, ended)
    if shard_run.is_complete(shard.survey):
        conclude.delay(shard.survey_id)


def _pace(survey: Survey) -> Pace | None:
    return pace_for(Resolving.from_json(survey.options), in_worker=True)


@app.task(name="tasks.crawl.conclude")
def conclude(survey_id: int) -> None:
    """Start the second pass of a survey after its last shard, or store its report."""
    survey = Survey.objects.get(pk=survey_id)
    add_log_fields(survey=survey.slug)
    if survey.state != SurveyState.RUNNING or not shard_run.is_complete(survey):
        return
    # The batches of a second pass are shards too: the last of them ends here again.
    if second_pass.start(survey):
        return
    domain_records.ask_for_card(survey)
    try:
        shard_run.conclude(survey)
    except Unavailable as error:
        waiting.save_error(survey, str(error))
        log.warning("survey %s waits: %s", survey.slug, error)
        return
    # Recommendations that wait for its regions, and audits of its domains.
    app.send_task("tasks.advising.arrive", args=[survey.pk])
    app.send_task("tasks.audits.survey_ended", args=[survey.pk])


@app.task(name="tasks.crawl.sweep")
def requeue_lost() -> None:
    """Take up what a killed worker or a restarted broker left: shards, starts and reports."""
    queue_lost(crawl_shard, waiting.expired_leases())
    for survey in Survey.objects.filter(state=SurveyState.RUNNING):
        if shard_run.is_complete(survey):
            queue_unless_queued(conclude, survey.pk)
        else:
            _hand_out(survey.pk)
            second_pass.resend_batches(survey)
    for survey in Survey.objects.filter(state=SurveyState.QUEUED):
        queue_unless_queued(start, survey.pk)
