"""``manage.py audit``: a policy applied to a domain list or to a finished survey."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from core.errors import BadInput
from tasks.audits import command as audits
from tasks.audits.remote_audit import RemoteSite, describe_step, list_text, policy_fields
from webapp.console.input_files import STANDARD_INPUT, input_file, read_input
from webapp.console.product_command import add_crawling
from webapp.console.survey_runner import SurveyRunner
from webapp.store.ranges import tables


class Command(SurveyRunner):
    """Audit domains and end with a code that a pipeline understands."""

    # 1 would mean that there are findings.
    try_again_code = 3
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
        parser.add_argument(
            "--campaign",
            default="",
            metavar="NAME",
            help="the measurement campaign that rules about latency, routes and regret read",
        )
        parser.add_argument(
            "--server",
            default="",
            metavar="URL",
            help="run the audit on this site; the token of an account is in NEPHOSCOPE_TOKEN",
        )
        parser.add_argument(
            "--domain-list", default="", metavar="ID", help="with --server: a saved list there"
        )
        parser.add_argument("--list-rules", action="store_true", help="print the rules and end")
        parser.add_argument("--schema", action="store_true", help="print the policy's JSON Schema")
        own = {action.dest for action in parser._actions}
        add_crawling(parser)
        crawling = (action for action in parser._actions if action.dest not in own)
        self._crawling = {action.dest: action.default for action in crawling}

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list_rules"] or options["schema"]:
            self._describe(options)
            return
        location = self._location(options)
        run = self._run_there if options["server"] else self._run_here
        report, fail_on = run(options)
        code = audits.exit_code(report, options["fail_on"] or fail_on, strict=options["strict"])
        form = "json" if options["json"] else options["format"] or "markdown"
        if report.judged:
            self._write(audits.render(report, form, location), options["output"])
        self._summarise(report)
        if code:
            raise SystemExit(int(code))

    def _run_here(self, options: dict[str, Any]) -> tuple[Any, str]:
        """The report of an audit in this installation, and the severity at which it fails."""
        if options["domain_list"]:
            raise BadInput("saved lists are on a server; name it", field="--server")
        policy = audits.find_policy(options["policy"])
        baseline = audits.find_baseline(options["baseline"]) if options["baseline"] else None
        slug = options["survey"] or self._survey(options)
        request = audits.AuditRequest(
            slug,
            policy,
            baseline,
            options["previous"],
            ask_records=options["ask_records"] or not options["survey"],
            campaign=options["campaign"],
        )
        return audits.audit_survey(request), str(policy.fail_on)

    def _run_there(self, options: dict[str, Any]) -> tuple[Any, str]:
        """The same of an audit that a server runs."""
        self._refuse_local(options)
        site = RemoteSite.at(options["server"], settings.API_TOKEN)
        document = audits.read_policy_file(options["policy"])
        list_path = options["domains_file"]
        names = ("survey", "previous", "campaign", "domain_list", "fail_on", "strict")
        body: dict[str, Any] = {
            **policy_fields(options["policy"], document),
            **{name: options[name] for name in names if options[name]},
        }
        if "survey" not in body and "domain_list" not in body:
            if list_path is None:
                raise BadInput("name a DOMAINS_FILE, a --survey or a --domain-list")
            body["domains"] = list_text(read_input(list_path))
        if options["baseline"]:
            body["baseline"] = audits.read_baseline_file(options["baseline"])
        ended: dict[str, Any] = {}

        def show(state: Mapping[str, Any]) -> None:
            ended.update(state)
            self.write_note(describe_step(state))

        return site.run_audit(body, show), str(ended["fail_on"])

    def _refuse_local(self, options: dict[str, Any]) -> None:
        """Raise ``BadInput`` for options that apply to local crawling only."""
        local = {**self._crawling, "ask_records": False}
        for name, usual in local.items():
            if options[name] != usual:
                option = f"--{name.replace('_', '-')}"
                raise BadInput("a --server asks by itself; leave it out", field=option)

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
