"""The figures of a report beside those of then: published ones, or those of an earlier survey."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest
from django.utils.http import urlencode

from webapp.pages.surveys import differences
from webapp.store.surveys import comparison
from webapp.store.surveys.selectors import ReportRow, SurveyRow

Reports = dict[str, ReportRow]
Lens = dict[str, Any]


def compare_tables(
    request: HttpRequest, slug: str, stored: Reports
) -> tuple[Reports, list[SurveyRow]]:
    """Return the tables beside what ``?then=`` names, and the earlier surveys that it can name.

    Raise ``Http404`` for a survey that is not one of them.
    """
    earlier = comparison.earlier_surveys(slug, request.user)
    wanted = request.GET.get("then", "")
    if not wanted:
        return stored, earlier
    then = next((row for row in earlier if row.slug == wanted), None)
    if then is None:
        raise Http404(f"no earlier survey {wanted!r} of the list of {slug}")
    return comparison.compare_with(stored, then), earlier


def build_lens(
    request: HttpRequest, lead: ReportRow, earlier: list[SurveyRow], *, is_published: bool
) -> Lens | None:
    """Return the choices of a page, and the figures of its first table then and now.

    ``None`` where there is nothing to choose from and nothing to compare with.
    """
    here = request.GET.get("then", "")
    choices = [_choice("Published 2013" if is_published else "Nothing", "", here)]
    for row in earlier:
        when = f"{row.finished_at.day} {row.finished_at:%b %Y}" if row.finished_at else row.name
        choices.append({**_choice(when, row.slug, here), "title": row.name})
    change = comparison.change_since(lead)
    largest = differences.largest_change(change) if change else None
    if len(choices) < 2 and largest is None:
        return None
    return {
        "choices": choices if len(choices) > 1 else [],
        "reference": lead.reference if change else None,
        "largest": largest,
        "then": here,
    }


def _choice(title: str, slug: str, here: str) -> Mapping[str, Any]:
    query = f"?{urlencode({'then': slug})}" if slug else "?"
    return {"title": title, "text": title, "href": query, "is_here": slug == here}
