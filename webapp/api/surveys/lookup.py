"""The survey of a path, for operations that need its row."""

from django.http import Http404, HttpRequest
from ninja.errors import HttpError

from webapp.store.access.visibility import may_manage, visible
from webapp.store.models import Survey


def get_survey(request: HttpRequest, slug: str) -> Survey:
    """Return a survey that the requester may see; raise ``Http404`` if there is none."""
    found = visible(Survey.objects.filter(slug=slug), request.user).first()
    if found is None:
        raise Http404(f"there is no survey {slug!r}")
    return found


def get_ended_own_survey(request: HttpRequest, slug: str) -> Survey:
    """Return an ended survey that the requester manages; raise ``Http404`` or ``HttpError``."""
    found = get_survey(request, slug)
    if not may_manage(found, request.user):
        raise HttpError(403, "only the owner of this survey may do this")
    if not found.is_final:
        raise HttpError(409, "the survey has not ended yet")
    return found
