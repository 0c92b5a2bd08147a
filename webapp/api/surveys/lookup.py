"""The survey of a path, for operations that need its row."""

from django.http import Http404, HttpRequest

from webapp.store.access.visibility import visible
from webapp.store.models import Survey


def get_survey(request: HttpRequest, slug: str) -> Survey:
    """Return a survey that the requester may see; raise ``Http404`` if there is none."""
    found = visible(Survey.objects.filter(slug=slug), request.user).first()
    if found is None:
        raise Http404(f"there is no survey {slug!r}")
    return found
