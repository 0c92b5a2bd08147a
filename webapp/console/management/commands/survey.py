"""``manage.py survey``: the whole main job."""

import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.errors import BadInput, NephoscopeError
from core.statuses import CampaignState
from tasks.resolution.engine_factory import count_words
from tasks.resolution.options import resolving_from
from tasks.surveys import export, shard_run
from tasks.surveys.second_pass import check_vantages
from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import Door, add_crawling
from webapp.store.models import Campaign
from webapp.store.ranges import tables
from webapp.store.surveys import selectors, services


class Command(Door):
    """Survey a domain list: crawl, place, report."""

    help = "domain list to report; run again with the same list and name to resume"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "domains_file",
            type=input_file,
            metavar="DOMAINS_FILE",
            help="domains, one a line, or CSV; - for standard input",
        )
        parser.add_argument("--name", default="")
        parser.add_argument("--out", metavar="DIR")
        parser.add_argument("--workers", action="store_true", help="use Celery workers")
        parser.add_argument(
            "--vantage",
            action="append",
            default=[],
            metavar="NAME",
            help="ask cloud-using names again from this vantage; needs --workers",
        )
        add_crawling(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        data = read_input(options["domains_file"])
        tables.check_there_is_one()
        campaign = self._campaign(data, options)
        self._run(campaign, workers=options["workers"])
        campaign.refresh_from_db()
        if campaign.state in (CampaignState.FAILED, CampaignState.CANCELLED):
            raise NephoscopeError(f"survey {campaign.slug} {campaign.state}: {campaign.error}")
        out = Path(options["out"]) if options["out"] else None
        document = export.write_out(campaign.slug, out) if out else None
        document = document or export.survey_document(campaign.slug)
        self.put_json(document) if options["json"] else self._tell(document)

    def _campaign(self, data: bytes, options: dict[str, Any]) -> Campaign:
        resolving = resolving_from(options)
        if options["vantage"] and not options["workers"]:
            raise BadInput("vantages are Celery workers; add --workers", field="vantage")
        name = options["name"] or options["domains_file"].stem
        before = services.unfinished_twin(name, data)
        if before:
            self.say(f"resuming {before.slug}")
            return before
        campaign = services.create_survey(
            data,
            name=name,
            options={**resolving.as_json(), "vantages": check_vantages(options["vantage"])},
            n_words=count_words(resolving),
            maker=services.OPERATING,
        )
        for item in campaign.rejected[:20]:
            self.say(f"line {item['line']}: {item['text']!r} left out: {item['reason']}")
        if campaign.n_rejected > 20:
            self.say(f"… and {campaign.n_rejected - 20:,} more")
        self.say(
            f"{campaign.slug}: {campaign.n_domains:,} domains, "
            f"about {campaign.estimated_queries:,} queries"
        )
        return campaign

    def _run(self, campaign: Campaign, *, workers: bool) -> None:
        if workers:
            from tasks.surveys.celery_tasks import start  # noqa: PLC0415

            start.delay(campaign.pk)
            self._watch(campaign)
            return
        try:
            shard_run.run_here(campaign, self._show if sys.stderr.isatty() else None)
        except NephoscopeError as error:
            if error.permanent:
                services.fail(campaign, str(error))
            raise

    def _watch(self, campaign: Campaign) -> None:
        while not campaign.is_final:
            time.sleep(0.5)
            campaign.refresh_from_db()
            if sys.stderr.isatty():
                self._show(campaign)

    def _show(self, campaign: Campaign) -> None:
        c = selectors.counters(campaign)
        left = f" · about {c['eta_s']} s left" if c["eta_s"] else ""
        sys.stderr.write(
            f"\r{c['domains_done']:,} of {c['domains']:,} domains · {c['queries']:,} queries · "
            f"{c['cloud']:,} cloud names{left}   "
        )

    def _tell(self, document: dict[str, Any]) -> None:
        names = document["names"]
        self.stdout.write(
            f"{document['campaign']}: {names['resolved']:,} names resolved, "
            f"{names['cloud']:,} in a cloud, {sum(names['failed'].values()):,} questions failed"
        )
        for table in document["tables"].values():
            self.stdout.write(f"  {table['headline']}")
