"""REST API v1: comparison of two surveys."""

from typing import Any

from django.http import Http404, HttpRequest
from ninja import Query, Schema, Status

from tasks.surveys import derived_tasks
from webapp.api.framework.files import table_file
from webapp.api.framework.routers import Router
from webapp.store.access.visibility import visible
from webapp.store.models import Survey
from webapp.store.surveys import comparison, derived

router = Router(tags=["comparisons"])
MOVE_COLUMNS = ("dimension", "before", "after", "rank", "domain", "name")
# One answer holds at most so many names; ``first`` asks for the next.
MAX_MOVES = 1_000_000


class MovesQuery(Schema):
    """Which of the moved names: a dimension, or one kind of move within it."""

    dimension: str = ""
    before: str = ""
    after: str = ""
    first: int = 0
    limit: int = MAX_MOVES


def _pair(request: HttpRequest, before: str, after: str) -> tuple[Survey, Survey]:
    rows = visible(Survey.objects.filter(slug__in=(before, after)), request.user)
    found = {c.slug: c for c in rows}
    if before == after or len(found) < 2 or not all(c.is_final for c in found.values()):
        raise Http404("only two surveys that have ended can be compared")
    return found[before], found[after]


def _compared(request: HttpRequest, before: str, after: str) -> comparison.Comparison:
    found = comparison.comparison(*_pair(request, before, after))
    if found is None:
        raise Http404(f"not compared yet: ask for /api/v1/compare/{before}/{after} first")
    return found


@router.get(
    "/{before}/{after}",
    response={200: "surveys.Comparison", 202: "surveys.Comparing"},
    operation_id="compare_surveys",
)
def get_comparison(request: HttpRequest, before: str, after: str) -> Any:
    """Return the comparison; 202 with its progress while it is computed for the first time."""
    pair = _pair(request, before, after)
    found = comparison.comparison(*pair)
    if found is None:
        derived_tasks.request_comparison(*pair)
        return Status(202, {"status": "comparing", **derived.comparison_of(*pair).state()})
    flows = {
        d: [{k: f[k] for k in ("before", "after", "names", "domains")} for f in rows]
        for d, rows in found.flows.items()
    }
    return {
        "status": "ready",
        "before": before,
        "after": after,
        "population": found.population,
        "sums": found.sums,
        "members": found.members,
        "flows": flows,
        "tables": list(comparison.table_changes(before, after)),
    }


@router.get(
    "/{before}/{after}/moves.{kind}",
    response={200: "common.CountedCells"},
    operation_id="list_moved_names",
)
def get_moves(
    request: HttpRequest, before: str, after: str, kind: str, query: Query[MovesQuery]
) -> Any:
    """List moved names: all, of a ``dimension``, or of one move (``before``, ``after``)."""
    found = _compared(request, before, after)
    first, total = _span(found, query)
    start, limit = max(0, query.first), min(max(1, query.limit), MAX_MOVES)
    rows = found.moves.rows(first + start, max(0, min(limit, total - start)))
    cells = [[row[c] for c in MOVE_COLUMNS] for row in rows]
    if kind == "json":
        return {"total": total, "first": start, "columns": MOVE_COLUMNS, "rows": cells}
    return table_file(f"{before}-{after}-moves", kind, MOVE_COLUMNS, cells)


def _span(found: comparison.Comparison, query: MovesQuery) -> tuple[int, int]:
    if not query.dimension:
        return 0, found.moves.n_rows
    if query.dimension not in comparison.DIMENSIONS:
        raise Http404(f"{query.dimension!r} is not one of {', '.join(comparison.DIMENSIONS)}")
    if not (query.before or query.after):
        return found.span(query.dimension)
    flow = found.flow(query.dimension, query.before, query.after)
    if flow is None:
        raise Http404("no name moved so")
    return flow["first"], flow["names"]


@router.get(
    "/{before}/{after}/tables/{table}.{kind}",
    response={200: "surveys.ChangedTable"},
    operation_id="compare_survey_tables",
)
def get_table_change(request: HttpRequest, before: str, after: str, table: str, kind: str) -> Any:
    """One table of both surveys: keys, then before, after and change of every column."""
    _pair(request, before, after)
    change = comparison.table_changes(before, after).get(table)
    if change is None:
        raise Http404(f"the two surveys have no table {table!r} in common")
    if kind != "json":
        return table_file(f"{before}-{after}-{table}", kind, change.columns, change.cells)
    return {
        "id": table,
        "columns": change.columns,
        "rows": change.cells,
        "n_before": change.n_before,
        "n_after": change.n_after,
    }
