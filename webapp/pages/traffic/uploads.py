"""The upload of traffic logs: its form, its progress, and its deletion."""

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from tasks.traffic import uploads
from webapp.pages.ui.access import signed_in
from webapp.store.models import TrafficUpload
from webapp.store.traffic import services
from webapp.store.traffic.services import MAX_BYTES, MAX_FILES, MAX_PLAIN_BYTES, SentFile

LIMITS = {
    "max_files": MAX_FILES,
    "max_mib": MAX_BYTES // 2**20,
    "max_plain_mib": MAX_PLAIN_BYTES // 2**20,
}


class UploadForm(forms.Form):
    """Names of fields are those of the API."""

    name = forms.CharField(max_length=100, required=False, strip=True)
    client_networks = forms.CharField(max_length=4_000, required=False, strip=True)
    as_of = forms.CharField(max_length=40, required=False, strip=True)

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        # Several files come under one name, which the field does not read: it shows errors.
        self.fields["files"] = forms.FileField(required=False)


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def new_upload(request: HttpRequest) -> HttpResponse:
    """The form; sent, it leads to the page of the capture, which shows the progress."""
    form = UploadForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        row = _upload(request, form)
        if row is not None:
            return redirect("capture", name=row.slug)
    context = {"section": "traffic", "form": form, **LIMITS}
    return render(request, "traffic/new.html", context, status=422 if form.errors else 200)


def _upload(request: HttpRequest, form: UploadForm) -> TrafficUpload | None:
    sent = [SentFile(str(f.name), f.chunks()) for f in request.FILES.getlist("files")]
    options = {name: form.cleaned_data[name] for name in ("client_networks", "as_of")}
    try:
        return uploads.upload(request.user, form.cleaned_data["name"], sent, options)
    except NephoscopeError as error:
        field = getattr(error, "field", None)
        text = error.text if isinstance(error, BadInput) else str(error)
        form.add_error(field if field in form.fields else "files", text)
        return None


def waiting_page(request: HttpRequest, row: TrafficUpload) -> HttpResponse:
    """The page of a capture that is not imported: how far it is, or why it failed."""
    return render(request, "traffic/upload.html", _context(row))


@never_cache
@require_GET
def progress(request: HttpRequest, name: str) -> HttpResponse:
    """How far an import is; a page that shows it loads itself again at the end."""
    row = own_or_404(request, name)
    answer = render(request, "traffic/part_progress.html", _context(row))
    if row.has_ended:
        answer["HX-Refresh"] = "true"
    return answer


def _context(row: TrafficUpload) -> dict[str, Any]:
    size = sum(int(one["bytes"]) for one in row.files)
    return {"section": "traffic", "row": row, "size": size, "percent": round(100 * row.progress)}


@signed_in
@require_POST
def delete(request: HttpRequest, name: str) -> HttpResponse:
    """Delete an upload with its import."""
    services.delete(own_or_404(request, name))
    return redirect("captures")


def own_or_404(request: HttpRequest, name: str) -> TrafficUpload:
    """The upload of the reader; what others uploaded is not there."""
    row = services.find(name, request.user)
    if row is None:
        raise Http404(f"no capture {name}")
    return row
