"""Forms: a new survey by a pasted list or a file, and data that managers add to a survey."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from core.errors import BadInput, NephoscopeError
from webapp.store.access.visibility import may_manage
from webapp.store.models import Survey


class SurveyForm(forms.Form):
    """A name and a domain list; exactly one way of giving the list is needed."""

    name = forms.CharField(max_length=200, required=False, strip=True)
    domains = forms.CharField(required=False, widget=forms.Textarea)
    file = forms.FileField(required=False, allow_empty_file=True)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        typed, sent = cleaned.get("domains", "").strip(), cleaned.get("file")
        if typed and sent:
            self.add_error("file", "Give the list once: clear the text above or the file here.")
        if not typed and not sent and not self.errors:
            self.add_error("domains", "Paste at least one domain, or choose a file.")
        return cleaned

    def read_list(self) -> bytes:
        """The list as bytes, whichever way it came."""
        sent = self.cleaned_data.get("file")
        if sent:
            return bytes(sent.read())
        return str(self.cleaned_data["domains"]).encode()


def is_manager(request: HttpRequest, survey: Survey) -> bool:
    """Whether the reader may change what is beside a survey: its managers, and operators."""
    is_operator = bool(getattr(request.user, "is_staff", False))
    return may_manage(survey, request.user) or is_operator


def act_as_manager(
    request: HttpRequest, survey: Survey, act: Callable[[HttpRequest, Survey], None]
) -> str:
    """Call ``act`` for a manager of an ended survey; return the error to show, or an empty text.

    Raises ``PermissionDenied`` for other readers.
    """
    if not is_manager(request, survey):
        raise PermissionDenied
    try:
        if not survey.is_final:
            raise BadInput("this survey has not ended yet: its domains are not known")
        act(request, survey)
    except NephoscopeError as error:
        return str(error)
    return ""


def sent_file(request: HttpRequest) -> tuple[str, bytes]:
    """Return name and contents of the field ``file``; raises ``BadInput`` without one."""
    sent = request.FILES.get("file")
    if sent is None:
        raise BadInput("choose a file", field="file")
    return str(sent.name), sent.read()
