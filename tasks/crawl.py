"""Celery's door to a survey: tasks carry shard ids, and running one twice leaves one result."""

import logging

from django.core.cache import cache

from core.errors import NephoscopeError
from core.statuses import CampaignState
from tasks import survey
from tasks.app import app
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
        survey.prepare(campaign)
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
    ended = survey.run_shard(shard)
    log.info("survey %s shard %s ended=%s", shard.campaign.slug, shard.key, ended)
    if survey.is_complete(shard.campaign):
        conclude.delay(shard.campaign_id)


@app.task(name="tasks.crawl.conclude")
def conclude(campaign_id: int) -> None:
    """Compute and store the report of a survey whose shards have all ended."""
    campaign = Campaign.objects.get(pk=campaign_id)
    if campaign.state == CampaignState.RUNNING and survey.is_complete(campaign):
        survey.conclude(campaign)


@app.task(name="tasks.crawl.sweep")
def sweep() -> None:
    """Take up what a killed worker or a restarted broker left: shards, starts and reports."""
    for shard_id in services.expired_shards():
        # A shard that waits in the queue already is claimed once, whatever number of tasks name
        # it; the marker only keeps the queue from filling with copies.
        if cache.add(f"queued-{shard_id}", True, timeout=30):
            crawl_shard.delay(shard_id)
    for campaign in Campaign.objects.filter(state=CampaignState.RUNNING):
        if survey.is_complete(campaign):
            conclude.delay(campaign.pk)
    for campaign in Campaign.objects.filter(state=CampaignState.QUEUED):
        start.delay(campaign.pk)
