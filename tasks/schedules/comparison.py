"""What a run changed: its survey or campaign compared with that of the run before."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings

from analysis.changes import change_points, surveys
from core.statuses import SurveyState
from tasks.schedules import path_changes
from tasks.surveys.derived import compare_surveys
from webapp.store.audits import findings
from webapp.store.campaigns import selectors as campaigns
from webapp.store.models import Audit, Campaign, ScheduleRun, Survey
from webapp.store.models.campaigns import FINAL
from webapp.store.schedules import kinds, services
from webapp.store.schedules.events import Change, Outcome
from webapp.store.surveys import derived, selectors

State = ScheduleRun.State
KIND_OF_DIMENSION = {
    "providers": kinds.PROVIDER,
    "regions": kinds.REGION,
    "zones": kinds.ZONE,
    "patterns": kinds.PATTERN,
    "name-servers": kinds.NAME_SERVERS,
}
# Events of one kind from one run; the rest is one event with their number.
MAX_EVENTS_OF_KIND = 200
# Number of runs with latencies in one test.
MAX_RUNS = 12
# Values by which a change may be dated too early.
_DATING_ERROR = 3


def has_ended(run: ScheduleRun) -> bool:
    """Whether what a run started has ended, or is gone."""
    if run.survey is not None:
        return run.survey.is_final
    if run.audit is not None:
        return run.audit.is_final
    return run.campaign is None or run.campaign.state in FINAL


def outcome_of(run: ScheduleRun) -> Outcome:
    """How a run that has ended went, and what changed; the first run changes nothing."""
    missing = missing_data(run)
    if missing:
        return failed(missing)
    before = services.last_compared(run)
    recovered = [Change(kinds.RECOVERED)] if services.failed_before(run) and before else []
    changes = [] if before is None else list(_cut(_changes(run, before)))
    return Outcome(State.COMPARED, [*recovered, *changes], before)


def failed(reason: str, state: str = State.FAILED) -> Outcome:
    """The outcome of a run without data."""
    return Outcome(state, [Change(kinds.NO_DATA, after=reason)], error=reason)


def missing_data(run: ScheduleRun) -> str:
    """Why a run has no data to compare; empty where it has."""
    if run.survey is not None:
        return _missing_of_survey(run.survey)
    if run.campaign is not None:
        return _missing_of_campaign(run.campaign)
    if run.audit is not None:
        return _missing_of_audit(run.audit)
    return "what the run started was deleted"


def _missing_of_survey(survey: Survey) -> str:
    if survey.state not in (SurveyState.FINISHED, SurveyState.PARTIAL):
        return f"the survey ended as {survey.state}" + (f": {survey.error}" if survey.error else "")
    if not surveys.count_found(_lake(), _side(survey)):
        return "no domain of the survey answered"
    return ""


def _missing_of_campaign(campaign: Campaign) -> str:
    if campaign.state == Campaign.State.FAILED:
        return f"the campaign failed: {campaign.error}"
    if not campaigns.parts(campaign, "samples"):
        return "the campaign measured nothing"
    return ""


def _missing_of_audit(audit: Audit) -> str:
    if audit.state == Audit.State.FAILED:
        return f"the audit failed: {audit.error}"
    counts = audit.report["summary"]
    if not counts["findings"] and not counts["passed"] and counts["not_judged"]:
        return "the audit could judge nothing"
    return ""


def _changes(run: ScheduleRun, before: ScheduleRun) -> Iterator[Change]:
    if run.survey is not None and before.survey is not None:
        yield from survey_changes(before.survey, run.survey)
    if run.campaign is not None and before.campaign is not None:
        found = list(path_changes.campaign_changes(run, before.campaign, MAX_RUNS))
        yield from found
        for change in latency_changes(run):
            yield path_changes.with_cause(change, run.campaign, found)
    if run.audit is not None and before.audit is not None:
        yield from finding_changes(run.audit)
        yield from _changes_of_audited(before.audit.survey, run.audit.survey)


def finding_changes(audit: Audit) -> Iterator[Change]:
    """New and resolved findings, by comparison with the audit before."""
    if audit.previous is None:
        return
    for kind, wanted in (
        (kinds.FINDING_NEW, findings.Filter(category="finding", state="new")),
        (kinds.FINDING_RESOLVED, findings.Filter(category="resolved")),
    ):
        for row in findings.read_places(audit, findings.places(audit, wanted)):
            text = f"{row['rule']} ({row['severity']}): {row['message']}"
            sides = ("", text) if kind == kinds.FINDING_NEW else (text, "")
            detail = {
                name: row[name] for name in ("rule", "severity", "discriminator", "fingerprint")
            }
            detail["audit"] = audit.slug
            yield Change(kind, row["subject"], *sides, key=row["fingerprint"], detail=detail)


def _changes_of_audited(before: Survey | None, after: Survey | None) -> Iterator[Change]:
    if before is not None and after is not None and before.pk != after.pk:
        yield from survey_changes(before, after)


def survey_changes(before: Survey, after: Survey) -> Iterator[Change]:
    """What changed between two surveys, domain by domain."""
    compare_surveys(before, after)
    moves = derived.comparison_of(before, after).folder / "moves.parquet"
    tables = [{t.pk for t in side.range_tables.all()} for side in (before, after)]
    found = surveys.moved_domains(moves)
    found += surveys.changed_name_servers(_lake(), _side(before), _side(after))
    for change in found:
        detail: dict[str, Any] = {"before": before.slug, "after": after.slug}
        if change.n_names:
            detail |= {"n_names": change.n_names, "names": list(change.names)}
            detail["range_tables_changed"] = tables[0] != tables[1]
        kind = KIND_OF_DIMENSION[change.dimension]
        yield Change(kind, change.domain, change.before, change.after, detail=detail)


def _lake() -> Path:
    return Path(settings.LAKE_DIR)


def _side(survey: Survey) -> surveys.SurveyParts:
    return surveys.SurveyParts(survey.slug, selectors.finished_shards(survey.slug))


def latency_changes(run: ScheduleRun) -> Iterator[Change]:
    """Pairs of vantage point and region with a latency change since their last one."""
    rows = services.compared_until(run, MAX_RUNS - 1)
    runs = [*rows, run]
    since = path_changes.last_changes(run.schedule, kinds.LATENCY)
    series: dict[str, list[Any]] = {}
    for one in runs:
        for subject, values in _rounds(one.campaign).items():
            first_due, n_before = since.get(subject, (one.due_at, 0))
            if one.due_at >= first_due:
                thinned = change_points.thin(values)[n_before if one.due_at == first_due else 0 :]
                series.setdefault(subject, []).append((one, thinned))
    found = change_points.find_changes({k: [v for _, v in rows] for k, rows in series.items()})
    for subject, point in sorted(found.items()):
        begun, skipped = _run_at(series[subject], point.at)
        detail = {
            "p_value": point.p_value,
            "error_rate": change_points.FAMILY_ERROR_RATE,
            "n_pairs": len(series),
            "since": begun.due_at.isoformat(),
            "skipped": skipped,
            "after": begun.campaign.slug if begun.campaign else "",
        }
        before, after = (f"{ms:.1f} ms" for ms in (point.before_ms, point.after_ms))
        yield Change(kinds.LATENCY, subject, before, after, detail=detail)


def _run_at(rows: Sequence[tuple[ScheduleRun, Any]], at: int) -> tuple[ScheduleRun, int]:
    """The run that holds the value of this index, and the number of its values before that.

    A change is dated some values too early where the last ones before it are high: near the end of
    a run it began with the next one. Otherwise the next comparison would find it again.
    """
    for number, (run, values) in enumerate(rows):
        if at < len(values):
            is_last = number + 1 == len(rows)
            near_end = at >= max(1, len(values) - _DATING_ERROR)
            return (rows[number + 1][0], 0) if near_end and not is_last else (run, at)
        at -= len(values)
    raise IndexError(at)


def _rounds(campaign: Campaign | None) -> dict[str, Any]:
    """Round medians (ms) of each pair, by ``vantage → region``."""
    if campaign is None:
        return {}
    table = campaigns.read_table(campaign, "latency-rounds", ["vantage", "region", "round", "p50"])
    if not table.num_rows:
        return {}
    rows = table.sort_by([(c, "ascending") for c in ("vantage", "region", "round")]).to_pylist()
    return {
        f"{vantage} → {region}": np.array(
            [row["p50"] for row in own if row["p50"] is not None], dtype=float
        )
        for (vantage, region), own in groupby(rows, key=lambda r: (r["vantage"], r["region"]))
    }


def _cut(changes: Iterable[Change]) -> Iterator[Change]:
    """At most so many changes of a kind, and one that counts the rest."""
    counts: Counter[str] = Counter()
    for change in changes:
        counts[change.kind] += 1
        if counts[change.kind] <= MAX_EVENTS_OF_KIND:
            yield change
    for kind, n in counts.items():
        if n > MAX_EVENTS_OF_KIND:
            yield Change(kind, after=f"{n - MAX_EVENTS_OF_KIND:,} more of this kind")
