"""``manage.py demo``: the first survey of a new installation, on the testbed Internet."""

import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings

from tasks.resolution.engine_factory import count_words
from tasks.resolution.options import resolving_from
from tasks.surveys.submission import submit
from webapp.console.product_command import ProductCommand
from webapp.store.models import Survey
from webapp.store.surveys import selectors, services

NAME = "The web of 2013"
LIMIT_S = 900.0


class Command(ProductCommand):
    """Survey the testbed's domain list when the store holds no survey yet."""

    help = "the first survey of a new installation; does nothing where there is one"

    def handle(self, *args: Any, **options: Any) -> None:
        if Survey.objects.exists():
            return
        lists = sorted(
            Path(settings.WORLDS_DIR).glob("*/domains.csv"), key=lambda p: p.stat().st_mtime
        )
        if not lists:
            self.write_note(
                "no testbed world has been served yet, so there is no demo survey to run"
            )
            return
        resolving = resolving_from({})
        survey = services.create_survey(
            lists[-1].read_bytes(),
            name=NAME,
            options=resolving.as_json(),
            n_words=count_words(resolving),
        )
        submit(survey)
        self.write_note(f"· surveying {survey.n_domains:,} domains of the testbed Internet")
        self._watch(survey)

    def _watch(self, survey: Survey) -> None:
        started = time.monotonic()
        live = sys.stderr.isatty()
        shown = -1
        while not survey.is_final and time.monotonic() - started < LIMIT_S:
            time.sleep(0.5)
            survey.refresh_from_db()
            counters = selectors.counters(survey)
            done = int(10 * counters["domains_done"] / max(1, counters["domains"]))
            if live or done > shown:
                shown = done
                self._show(counters, live)
        self.write_note(f"{chr(10) if live else ''}· demo survey {survey.state}")

    def _show(self, counters: dict[str, Any], live: bool) -> None:
        line = (
            f"  {counters['domains_done']:,} of {counters['domains']:,} domains · "
            f"{counters['queries']:,} queries · {counters['cloud']:,} cloud names"
        )
        sys.stderr.write(f"\r{line}   " if live else line + "\n")
        sys.stderr.flush()
