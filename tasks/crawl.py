"""Celery's door to a survey: tasks carry shard ids, and running one twice leaves one result."""

import logging

from django.core.cache import cache

from core.errors import NephoscopeError
from core.statuses import CampaignState
from crawlers.pace import Pace
from tasks import second_pass, survey
from tasks.app import app
from tasks.pace import pace_for
from tasks.resolvers import Resolving
from webapp.store import services
from webapp.store.models import Campaign

log = logging.getLogger(__name__)


@app.task(name="tasks.crawl.start")
def start(campaign_id: int) -> None:
    """Prepare a survey and queue its shards."""
    campaign = Campaign.objects.get(pk=campaign_id)
    if campaign.is_final:
        return
    try:
        survey.prepare(campaign, _pace(campaign))
    except NephoscopeError as error:
        services.fail(campaign, str(error))
        log.warning("survey %s did not start: %s", campaign.slug, error)
        return
    for shard_id in campaign.shards.values_list("pk", flat=True):
        crawl_shard.delay(shard_id)


@app.task(name="tasks.crawl.crawl_shard")
def crawl_shard(shard_id: int) -> None:
    """Run one shard unless another worker has it; the last one queues the report."""
    shard = services.claim(shard_id)
    if shard is None:
        return
    if shard.attempt > services.MAX_ATTEMPTS:
        # It may be the shard that ends its workers, by the memory that it takes.
        services.release(shard, "its workers fell silent again and again", permanent=True)
        ended = False
    else:
        ended = survey.run_shard(shard, _pace(shard.campaign))
    log.info("survey %s shard %s ended=%s", shard.campaign.slug, shard.key, ended)
    if survey.is_complete(shard.campaign):
        conclude.delay(shard.campaign_id)


def _pace(campaign: Campaign) -> Pace | None:
    return pace_for(Resolving.from_json(campaign.options), in_worker=True)


@app.task(name="tasks.crawl.conclude")
def conclude(campaign_id: int) -> None:
    """Start the second pass of a survey whose shards have all ended, or store its report."""
    campaign = Campaign.objects.get(pk=campaign_id)
    if campaign.state != CampaignState.RUNNING or not survey.is_complete(campaign):
        return
    # The batches of a second pass are shards too: the last of them ends here once more.
    if not second_pass.begin(campaign):
        survey.conclude(campaign)
        # Whatever recommendation waited for its regions.
        app.send_task("tasks.advising.arrive", args=[campaign.pk])


@app.task(name="tasks.crawl.sweep")
def sweep() -> None:
    """Take up what a killed worker or a restarted broker left: shards, starts and reports."""
    for shard_id, attempt in services.expired_shards():
        # A shard that waits in the queue already is claimed once, whatever number of tasks name
        # it; the marker only keeps the queue from filling with copies.
        if cache.add(f"queued-{shard_id}-{attempt}", True, timeout=30):
            crawl_shard.delay(shard_id)
    for campaign in Campaign.objects.filter(state=CampaignState.RUNNING):
        if survey.is_complete(campaign):
            conclude.delay(campaign.pk)
        else:
            second_pass.keep_going(campaign)
    for campaign in Campaign.objects.filter(state=CampaignState.QUEUED):
        start.delay(campaign.pk)
