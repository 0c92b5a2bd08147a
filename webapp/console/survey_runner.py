"""Commands that survey a domain list: ``survey`` itself, and ``audit``."""

import sys
import time
from typing import Any

from core.errors import BadInput, NephoscopeError
from tasks.resolution.engine_factory import count_words
from tasks.resolution.options import resolving_from
from tasks.surveys import shard_run
from tasks.surveys.second_pass import check_vantages
from webapp.console.product_command import ProductCommand
from webapp.store.models import Survey
from webapp.store.surveys import selectors, services


class SurveyRunner(ProductCommand):
    """A command that stores a survey and waits until it ends, with progress on a terminal."""

    def create_survey(self, data: bytes, options: dict[str, Any]) -> Survey:
        """Store a survey of the list, or find the unfinished one of this name; ``BadInput``."""
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
            f"about {survey.estimated_queries:,} queries, and about "
            f"{services.WILDCARD_QUERIES:,} more for each zone with a wildcard"
        )
        return survey

    def run_survey(self, survey: Survey, *, workers: bool) -> None:
        """Crawl it here or by the workers; raises ``NephoscopeError`` if it fails."""
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
