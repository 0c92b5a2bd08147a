"""``manage.py survey``: the whole main job."""

import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.errors import BadInput, NephoscopeError
from core.statuses import SurveyState
from tasks.resolution.engine_factory import count_words
from tasks.resolution.options import resolving_from
from tasks.surveys import export, shard_run
from tasks.surveys.second_pass import check_vantages
from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import ProductCommand, add_crawling
from webapp.store.models import Survey
from webapp.store.ranges import tables
from webapp.store.surveys import selectors, services


class Command(ProductCommand):
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
        tables.require_table()
        survey = self._survey(data, options)
        self._run(survey, workers=options["workers"])
        survey.refresh_from_db()
        if survey.state in (SurveyState.FAILED, SurveyState.CANCELLED):
            raise NephoscopeError(f"survey {survey.slug} {survey.state}: {survey.error}")
        out = Path(options["out"]) if options["out"] else None
        document = export.write_out(survey.slug, out) if out else None
        document = document or export.survey_document(survey.slug)
        self.write_json(document) if options["json"] else self._write_summary(document)

    def _survey(self, data: bytes, options: dict[str, Any]) -> Survey:
        resolving = resolving_from(options)
        if options["vantage"] and not options["workers"]:
            raise BadInput("vantages are Celery workers; add --workers", field="vantage")
        name = options["name"] or options["domains_file"].stem
        before = services.find_unfinished(name, data)
        if before:
            self.write_note(f"resuming {before.slug}")
            return before
        survey = services.create_survey(
            data,
            name=name,
            options={**resolving.as_json(), "vantages": check_vantages(options["vantage"])},
            n_words=count_words(resolving),
            maker=services.OPERATOR_REQUEST,
        )
        for item in survey.rejected[:20]:
            self.write_note(f"line {item['line']}: {item['text']!r} left out: {item['reason']}")
        if survey.n_rejected > 20:
            self.write_note(f"… and {survey.n_rejected - 20:,} more")
        self.write_note(
            f"{survey.slug}: {survey.n_domains:,} domains, "
            f"about {survey.estimated_queries:,} queries"
        )
        return survey

    def _run(self, survey: Survey, *, workers: bool) -> None:
        if workers:
            from tasks.surveys.celery_tasks import start  # noqa: PLC0415

            start.delay(survey.pk)
            self._watch(survey)
            return
        try:
            shard_run.run_here(survey, self._show if sys.stderr.isatty() else None)
        except NephoscopeError as error:
            if error.permanent:
                services.fail(survey, str(error))
            raise

    def _watch(self, survey: Survey) -> None:
        while not survey.is_final:
            time.sleep(0.5)
            survey.refresh_from_db()
            if sys.stderr.isatty():
                self._show(survey)

    def _show(self, survey: Survey) -> None:
        c = selectors.counters(survey)
        left = f" · about {c['eta_s']} s left" if c["eta_s"] else ""
        sys.stderr.write(
            f"\r{c['domains_done']:,} of {c['domains']:,} domains · {c['queries']:,} queries · "
            f"{c['cloud']:,} cloud names{left}   "
        )

    def _write_summary(self, document: dict[str, Any]) -> None:
        names = document["names"]
        self.stdout.write(
            f"{document['survey']}: {names['resolved']:,} names resolved, "
            f"{names['cloud']:,} in a cloud, {sum(names['failed'].values()):,} questions failed"
        )
        for table in document["tables"].values():
            self.stdout.write(f"  {table['headline']}")
