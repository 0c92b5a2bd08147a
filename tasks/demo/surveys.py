"""Surveys of the demo: the emulated Internet half a year ago, now, and that of one tenant."""

import shutil
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from analysis.deployment.countries import continents, region_countries
from core.statuses import SurveyState
from lake.parts import part_path, write_part
from tasks.resolution.engine_factory import Resolving, count_words
from tasks.resolution.options import resolving_from
from tasks.surveys import derived, observation, study
from tasks.surveys.submission import submit
from tasks.surveys.worlds import WorldOptions
from testbed.generate.customers import CountryIndex, customer_rows
from testbed.generate.earlier import Move, build_earlier
from testbed.truth.observations import zone_rows
from testbed.world.model import World
from testbed.worlds.loading import load_world, named_domains, read_labels
from webapp.store.models import Survey
from webapp.store.object_storage import files
from webapp.store.surveys import services

NAME = "The web of 2013"
EARLIER_NAME = "The web of 2013, six months before"
TENANT_NAME = "Sample tenant"
KEY = "demo-survey"
_BEFORE = timedelta(days=183)
_TENANT_DOMAINS = 6
_WAIT_S = 900.0


def earlier_world(world: World) -> tuple[World, list[Move]]:
    """The world of the earlier survey, and what moved since; no domain that exists moves."""
    return build_earlier(world, fixed=named_domains(world.spec))


def observe_earlier(world: World, options: WorldOptions) -> Survey:
    """Store the earlier survey, without a question; one that did not end is made again."""
    before, _ = earlier_world(world)
    return _observe(before, options, EARLIER_NAME, timezone.now() - _BEFORE)


def observe_tenant(world: World, options: WorldOptions) -> Survey:
    """Store the survey of some domains that together use several regions."""
    wanted, named = [], named_domains(world.spec)
    seen: set[str] = set()
    for zone in world.zones:
        places = [world.place(a) for name in zone.names for a in name.addresses]
        regions = {p.region for p in places if p.provider == "aws" and p.region}
        if zone.fault or zone.domain in named or not regions - seen:
            continue
        seen |= regions
        wanted.append(zone)
    small = replace(world, zones=wanted[:_TENANT_DOMAINS])
    # Before the others, so that the front page never shows it.
    return _observe(small, options, TENANT_NAME, timezone.now() - 2 * _BEFORE)


def _observe(world: World, options: WorldOptions, name: str, at: datetime) -> Survey:
    for begun in Survey.objects.filter(name=name, owner=None, state=SurveyState.RUNNING):
        begun.delete()
        shutil.rmtree(Path(settings.LAKE_DIR) / begun.slug, ignore_errors=True)
        files.unregister(Path(settings.LAKE_DIR) / begun.slug)
    survey = observation.observe_world(world, options, name)
    Survey.objects.filter(pk=survey.pk).update(created_at=at, started_at=at, finished_at=at)
    # The index belongs to the moment at which a survey ended.
    derived.try_index_survey(survey)
    return survey


def start_survey(world: World) -> Survey:
    """Queue a crawl of the testbed; the labels are those that its zones can have."""
    resolving: Resolving = replace(resolving_from({}), wordlist=read_labels())
    survey = services.create_survey(
        world.domain_list(),
        name=NAME,
        options=resolving.as_json(),
        n_words=count_words(resolving),
        idempotency_key=KEY,
    )
    if not survey.is_final:
        submit(survey)
    return survey


def wait_for(survey: Survey) -> Survey:
    """Wait until a survey has ended, or too long has passed."""
    started = time.monotonic()
    while not survey.is_final and time.monotonic() - started < _WAIT_S:
        time.sleep(0.5)
        survey.refresh_from_db()
    return survey


def attach_external(survey: Survey, world: World) -> None:
    """Attach zones of addresses and countries of customers, which no crawl sees."""
    rows = {"zones": zone_rows(world)}
    shares = load_world(world.spec).raw.get("customers")
    if shares:
        atlas = CountryIndex(region_countries(), continents())
        rows["customers"] = customer_rows(world, shares, atlas)
    for table, brought in rows.items():
        path = part_path(Path(settings.LAKE_DIR), survey.slug, table, study.BROUGHT)
        write_part(path, table, brought)
    study.recompute(survey)


def compare(before: Survey, after: Survey) -> None:
    """Compare the two surveys, so that their page is ready."""
    # A sweep that saw the earlier one before it ended may have closed it again, as of now.
    Survey.objects.filter(pk=before.pk).update(finished_at=F("created_at"))
    before.refresh_from_db()
    derived.compare_surveys(before, after)
