"""``manage.py audit``: a policy applied to a domain list or to a finished survey."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.errors import BadInput
from tasks.audits import command as audits
from webapp.console.input_files import STANDARD_INPUT, input_file, read_input
from webapp.console.product_command import add_crawling
from webapp.console.survey_runner import SurveyRunner
from webapp.store.ranges import tables


class Command(SurveyRunner):
    """Audit domains and end with a code that a pipeline understands."""

    help = "apply a policy to domains; exit 0 clean, 1 findings, 2 bad input, 3 not judged"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "domains_file",
            nargs="?",
            type=input_file,
            metavar="DOMAINS_FILE",
            help="domains to survey first, or the list that findings are anchored in",
        )
        parser.add_argument("--survey", metavar="NAME", help="audit this finished survey instead")
        parser.add_argument(
            "--policy", default="default", metavar="FILE", help="TOML or JSON, or a preset's name"
        )
        parser.add_argument(
            "--fail-on", choices=audits.SEVERITIES, help="default as the policy says"
        )
        parser.add_argument("--strict", action="store_true", help="exit 3 if a rule is not judged")
        parser.add_argument(
            "--format", choices=audits.FORMAT_NAMES, default=None, help="default markdown"
        )
        parser.add_argument("-o", "--output", type=Path, metavar="FILE")
        parser.add_argument(
            "--baseline", type=input_file, metavar="FILE", help="an earlier report of --format json"
        )
        parser.add_argument(
            "--previous", default="", metavar="NAME", help="the survey before, to list changes"
        )
        parser.add_argument(
            "--ask-records", action="store_true", help="ask for CAA, DS and MX of --survey now"
        )
        parser.add_argument("--list-rules", action="store_true", help="print the rules and end")
        parser.add_argument("--schema", action="store_true", help="print the policy's JSON Schema")
        add_crawling(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list_rules"] or options["schema"]:
            self._describe(options)
            return
        policy = audits.find_policy(options["policy"])
        baseline = audits.find_baseline(options["baseline"]) if options["baseline"] else None
        location = self._location(options)
        slug = options["survey"] or self._survey(options)
        report = audits.audit_survey(
            audits.AuditRequest(
                slug,
                policy,
                baseline,
                options["previous"],
                ask_records=options["ask_records"] or not options["survey"],
            )
        )
        code = audits.exit_code(
            report, options["fail_on"] or str(policy.fail_on), strict=options["strict"]
        )
        form = "json" if options["json"] else options["format"] or "markdown"
        if report.judged:
            self._write(audits.render(report, form, location), options["output"])
        self._summarise(report)
        if code:
            raise SystemExit(int(code))

    def _describe(self, options: dict[str, Any]) -> None:
        if options["schema"]:
            self.write_json(audits.json_schema())
        elif options["json"]:
            self.write_json(audits.describe_rules())
        elif options["format"] == "markdown" and options["list_rules"]:
            self.stdout.write(audits.rule_reference(), ending="")
        else:
            for rule in audits.describe_rules():
                self.stdout.write(f"{rule['id']}\t{rule['severity']}\t{rule['title']}")

    def _location(self, options: dict[str, Any]) -> Any:
        path = options["domains_file"]
        if path is None:
            return None
        name = "stdin" if path == STANDARD_INPUT else str(path)
        return audits.list_location(read_input(path), name)

    def _survey(self, options: dict[str, Any]) -> str:
        """Survey the list of the command line; return the survey's name in addresses."""
        if options["domains_file"] is None:
            raise BadInput("name a DOMAINS_FILE or a --survey")
        tables.require_table()
        given = {**options, "name": "", "vantage": [], "workers": False}
        survey = self.create_survey(read_input(options["domains_file"]), given)
        self.run_survey(survey, workers=False)
        return survey.slug

    def _write(self, text: str, path: Path | None) -> None:
        if path is None:
            self.stdout.write(text, ending="")
            return
        path.write_text(text, encoding="utf-8")
        self.write_note(f"report written to {path}")

    def _summarise(self, report: Any) -> None:
        counts = audits.summary(report)
        severities = ", ".join(f"{n} {name}" for name, n in counts["by_severity"].items())
        self.write_note(
            f"{counts['domains']:,} domains: {counts['findings']:,} findings"
            + (f" ({severities})" if severities else "")
            + f", {counts['suppressed']:,} suppressed, {counts['not_judged']:,} not judged"
        )
        for problem in report.suppression_problems:
            self.write_note(problem)
        sys.stdout.flush()
