"""The versions of the surveys that a request names, each read once."""

from django.http import HttpRequest

from webapp.store.access.visibility import may_see
from webapp.store.surveys import selectors


def read_version(request: HttpRequest, slug: str) -> selectors.SurveyVersion | None:
    """Return the version of a survey, where the reader may see it.

    Requests that change something read it anew.
    """
    if request.method not in ("GET", "HEAD"):
        return selectors.version(slug, request.user)
    read: dict[str, selectors.SurveyVersion | None] = request.__dict__.setdefault("versions", {})
    if slug not in read:
        read[slug] = selectors.version(slug, request.user)
    return read[slug]


def read_survey(request: HttpRequest, slug: str) -> selectors.SurveyRow | None:
    """Return a survey, where the reader may see it."""
    version = read_version(request, slug)
    return selectors.survey_of(version) if version else None


def may_read_named(request: HttpRequest, kind: str, slugs: list[str]) -> bool:
    """Whether the reader may see all of what an address names."""
    if kind != "survey":
        return may_see(kind, slugs, request.user)
    return all(read_version(request, slug) is not None for slug in slugs)
