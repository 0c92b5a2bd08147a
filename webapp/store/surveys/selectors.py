"""Everything that pages and API read; nothing here computes a report."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from django.db.models import Count, Model
from django.http import HttpRequest
from django.utils import timezone

from analysis.reporting import published
from analysis.reporting.headlines import front_findings as find_front
from analysis.reporting.method_notes import COMMON_NOTE, method_note
from analysis.reporting.registry import TABLE_BY_ID
from analysis.reporting.tables.marginal_note import MarginalNote
from cartography.ranges.regions import region as region_of
from core.report_tables import SPEC_BY_ID, SPECS, Table
from webapp.store.access.survey_versions import (
    IS_CHECK,
    SurveyVersion,
    front_slug,
    read_version,
    version,
)
from webapp.store.access.visibility import visible
from webapp.store.models import RangeTable, Report, Shard, Survey
from webapp.store.surveys.timings import StageTimes, add_stages
from webapp.store.surveys.waiting import find_blocker

Row = TypeVar("Row", "SurveyRow", "ReportRow")


@dataclass(frozen=True)
class SurveyRow:
    """One survey as a page shows it."""

    id: int
    slug: str
    name: str
    state: str
    world: str
    is_testbed: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    n_domains: int
    n_rejected: int
    n_duplicates: int
    counters: dict[str, Any]
    range_tables: list[dict[str, Any]]
    rejected: list[dict[str, Any]]
    notes: list[str]
    options: dict[str, Any]
    summary: dict[str, Any]
    error: str
    # For what an open survey waits: space on the disk, a name server.
    waits: str
    is_final: bool
    owner_id: int | None = None
    maker_id: int | None = None
    organisation_id: int | None = None

    @property
    def is_private(self) -> bool:
        """Whether only its owner and members of its organisation see it."""
        return self.owner_id is not None


@dataclass(frozen=True, slots=True)
class Reference:
    """What the figures of a table are set beside: published ones, or those of another survey."""

    # Heading of a column, time and source; ``headline`` is empty for published figures.
    label: str
    when: str
    source: str
    headline: str = ""


@dataclass(frozen=True)
class ReportRow:
    """One finished table with everything that must stand beside it."""

    table_id: str
    title: str
    columns: list[str]
    rows: list[list[Any]]
    n: int
    headline: str
    method: str
    source: str
    computed_at: datetime
    checks: list[str] = field(default_factory=list)
    # Figures that these are compared with, and where they are from.
    published: Table | None = None
    reference: Reference | None = None
    # (row, column, why) of published cells that their own source contradicts.
    contradicted: list[tuple[str, str, str]] = field(default_factory=list)


def common_method() -> str:
    """Return what the methods of all tables share."""
    return COMMON_NOTE


def own_method(report: ReportRow | None) -> str:
    """Return a table's method without what it shares with every other; nothing without a table."""
    return report.method.removesuffix(COMMON_NOTE).strip() if report else ""


def surveys(
    limit: int = 200, reader: Any = None, *, are_checks: bool | None = None
) -> list[SurveyRow]:
    """Surveys that a reader may see, newest first; without a reader, the public ones.

    ``are_checks`` keeps those of one domain, or leaves them out; None keeps both.
    """
    rows = visible(Survey.objects.prefetch_related("range_tables"), reader)
    if are_checks is not None:
        rows = rows.filter(IS_CHECK if are_checks else ~IS_CHECK)
    return [row_of(c) for c in rows[:limit]]


def count_surveys(reader: Any = None) -> tuple[int, int]:
    """Return how many surveys and how many checks of one domain a reader may see."""
    rows = visible(Survey.objects.order_by(), reader)
    found = rows.aggregate(checks=Count("pk", filter=IS_CHECK), total=Count("pk"))
    return found["total"] - found["checks"], found["checks"]


def survey(slug: str, reader: Any = None) -> SurveyRow | None:
    """One survey by its slug, where the reader may see it."""
    found = version(slug, reader)
    return survey_of(found) if found else None


def survey_of(found: SurveyVersion) -> SurveyRow | None:
    """Return the row of a version; one that has just been deleted has none."""
    return _final_survey(found) if found.is_final else _read_survey(found.survey_id)


@lru_cache(maxsize=256)
def _final_survey(found: SurveyVersion) -> SurveyRow | None:
    """Read a finished survey once for each version."""
    return _read_survey(found.survey_id)


def _read_survey(survey_id: int) -> SurveyRow | None:
    found = Survey.objects.filter(pk=survey_id).prefetch_related("range_tables").first()
    return row_of(found) if found else None


def read_survey(request: HttpRequest, slug: str) -> SurveyRow | None:
    """Return a survey, where the reader may see it."""
    found = read_version(request, slug)
    return survey_of(found) if found else None


def front_survey(reader: Any = None) -> SurveyRow | None:
    """Return the survey of the home page."""
    slug = front_slug(reader)
    return survey(slug, reader) if slug else None


def row_of(found: Survey) -> SurveyRow:
    """The plain view of a model row."""
    tables = [table_row(t) for t in found.range_tables.all()]
    own = {
        "is_testbed": bool(found.world),
        "counters": counters(found),
        "range_tables": tables,
        "waits": find_blocker(found),
        "error": found.error if found.is_final else "",
    }
    return _copy(SurveyRow, found, own)


def _copy(kind: type[Row], found: Model, own: Mapping[str, Any]) -> Row:
    """A plain view: what a model row has under the same names, and what is the view's own."""
    kept = [each.name for each in fields(kind) if each.name not in own]
    return kind(**{name: getattr(found, name) for name in kept}, **own)


def table_row(table: RangeTable) -> dict[str, Any]:
    """An imported range table: what it is, and what it counts."""
    return {
        "provider": table.provider,
        "variant": table.variant,
        "as_of": table.as_of,
        "origin": table.origin,
        "sha256": table.sha256,
        "imported_at": table.imported_at,
        **table.counts,
    }


_SUMMED = ("domains_done", "queries", "answered", "found", "resolved", "cloud")


def counters(found: Survey) -> dict[str, Any]:
    """Live counters: sums over the shards, with a rate and an estimate of the time left."""
    total, failed, stages = (
        _sums(found.pk)
        if not found.finished_at
        else _final_sums(found.pk, found.slug, found.finished_at)
    )
    end = found.finished_at or timezone.now()
    elapsed_s = (end - found.started_at).total_seconds() if found.started_at else 0.0
    done = total["domains_done"]
    left = found.n_domains - done
    return {
        **{key: total[key] for key in _SUMMED},
        "domains": found.n_domains,
        "failed": dict(failed),
        "stages": stages,
        "estimated_queries": found.estimated_queries,
        "elapsed_s": round(elapsed_s, 1),
        "rate_qps": round(total["queries"] / elapsed_s) if elapsed_s > 0 else None,
        "eta_s": round(elapsed_s / done * left) if done and not found.finished_at else None,
    }


def _sums(survey_id: int) -> tuple[Counter[str], dict[str, int], StageTimes]:
    """Counters of all shards together; a survey of a million domains has thousands of them."""
    total: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    stages: list[StageTimes] = []
    for shard in Shard.objects.filter(survey=survey_id).values_list("counters", flat=True):
        total.update({k: shard.get(k, 0) for k in _SUMMED})
        failed.update(shard.get("failed", {}))
        stages.append(shard.get("stages", {}))
    return total, dict(sorted(failed.items())), add_stages(stages)


@lru_cache(maxsize=512)
def _final_sums(
    survey_id: int, slug: str, finished_at: datetime
) -> tuple[Counter[str], dict[str, int], StageTimes]:
    """The same for a finished survey, with final shards."""
    return _sums(survey_id)


def report(slug: str, table_id: str) -> ReportRow | None:
    """One finished table."""
    found = Report.objects.filter(survey__slug=slug, table_id=table_id).first()
    return _report_row(found) if found else None


def reports(slug: str) -> dict[str, ReportRow]:
    """All finished tables of a survey, by table id, in the order of the list of tables."""
    rows = {r.table_id: _report_row(r) for r in Report.objects.filter(survey__slug=slug)}
    return {spec.id: rows[spec.id] for spec in SPECS if spec.id in rows}


def takeovers_of(user: Any, limit: int = 50) -> list[dict[str, Any]]:
    """Names of a person's surveys that anyone could answer as, by the newest survey of each list.

    ``{survey, rank, domain, name, missing, provider, rule, claimable}``; ``survey`` is its row.
    """
    newest: dict[str, Survey] = {}
    made = Survey.objects.filter(maker=user.pk, reports__table_id="dangling-names")
    for found in made.order_by("created_at", "id"):
        newest[found.list_sha256] = found
    tables = Report.objects.filter(survey__in=newest.values(), table_id="dangling-names")
    rows = (
        {"survey": table.survey, **dict(zip(table.columns, row, strict=True))}
        for table in tables.select_related("survey").order_by("-survey__created_at")
        for row in table.rows
    )
    return list(islice((row for row in rows if row["claimable"] == "yes"), limit))


def _report_row(found: Report) -> ReportRow:
    spec, known = SPEC_BY_ID[found.table_id], published.contradictions(found.table_id)
    own = {
        "title": spec.title,
        "method": method_note(found.table_id),
        "source": spec.source,
        "published": published.published(found.table_id),
        "reference": Reference("2013", "published in 2013", spec.source),
        "contradicted": [(*at, why) for at, why in known.items()],
    }
    return _copy(ReportRow, found, own)


def as_tables(rows: Iterable[ReportRow]) -> dict[str, Table]:
    """Reports as the tables that analysis speaks of."""
    return {
        r.table_id: Table(
            id=r.table_id, columns=tuple(r.columns), rows=tuple(map(tuple, r.rows)), n=r.n
        )
        for r in rows
    }


def marginal_notes(table_id: str, rows: Iterable[ReportRow]) -> list[MarginalNote]:
    """Return the notes beside the chart of the table that leads a page, from all its tables."""
    tables = as_tables(rows)
    return [note for write in TABLE_BY_ID[table_id].notes if (note := write(tables))]


def front_findings(slug: str) -> list[dict[str, str]]:
    """Return the three findings of the home page."""
    found = as_tables(reports(slug).values())
    if not found:
        return []
    return [{"value": f.value, "text": f.text, "table_id": f.table_id} for f in find_front(found)]


def map_regions(slug: str) -> list[dict[str, Any]]:
    """Regions with their place on the map; one without a known place has no coordinates."""
    row = report(slug, "regions")
    if row is None:
        return []
    return [_map_row(dict(zip(row.columns, cells, strict=True))) for cells in row.rows]


def _map_row(cells: dict[str, Any]) -> dict[str, Any]:
    place = region_of(cells["provider"], cells["region"])
    return {
        **cells,
        "place": place.place if place else cells["region"],
        "country": place.country if place else "",
        "latitude": place.latitude if place else None,
        "longitude": place.longitude if place else None,
    }


def places(regions: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Town names of (provider, region), where they are known."""
    found = {key: region_of(*key) for key in set(regions)}
    return {key: region.place for key, region in found.items() if region}


def finished_shards(slug: str) -> list[str]:
    """The manifest: shards with parts that count."""
    rows = Shard.objects.filter(survey__slug=slug, state=Shard.State.DONE)
    return list(rows.values_list("key", flat=True))
