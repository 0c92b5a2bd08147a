"""``manage.py survey``: the whole main job; ``survey export`` and ``survey rebuild``."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.errors import NephoscopeError
from core.statuses import SurveyState
from tasks.surveys import export
from webapp.console.input_files import input_file, read_input
from webapp.console.product_command import add_crawling
from webapp.console.survey_package import ACTIONS, PackageCommand
from webapp.console.survey_runner import SurveyRunner
from webapp.store.ranges import tables


class Command(SurveyRunner):
    """Survey a domain list: crawl, place, report."""

    help = (
        "domain list to report; run again with the same list and name to resume. "
        "survey export --help and survey rebuild --help: raw data as one file"
    )

    def run_from_argv(self, argv: list[str]) -> None:
        # Sub-parsers and a file as first argument exclude each other; ./export is a file.
        if argv[2:3] and argv[2] in ACTIONS:
            PackageCommand().run_from_argv(argv)
        else:
            super().run_from_argv(argv)

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
        survey = self.create_survey(data, options)
        self.run_survey(survey, workers=options["workers"])
        survey.refresh_from_db()
        if survey.state in (SurveyState.FAILED, SurveyState.CANCELLED):
            raise NephoscopeError(f"survey {survey.slug} {survey.state}: {survey.error}")
        out = Path(options["out"]) if options["out"] else None
        document = export.write_out(survey.slug, out) if out else None
        document = document or export.survey_document(survey.slug)
        self.write_json(document) if options["json"] else self._write_summary(document)

    def _write_summary(self, document: dict[str, Any]) -> None:
        names = document["names"]
        self.stdout.write(
            f"{document['campaign']}: {names['resolved']:,} names resolved, "
            f"{names['cloud']:,} in a cloud, {sum(names['failed'].values()):,} queries failed"
        )
        for table in document["tables"].values():
            self.stdout.write(f"  {table['headline']}")
