"""Documents of the API."""

import hashlib
import json
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import get_script_prefix

from webapp.store.surveys.selectors import SurveyRow


def survey_json(row: SurveyRow) -> dict[str, Any]:
    """A survey as the API shows it."""
    root = get_script_prefix()
    base = f"{root}api/v1/surveys/{row.slug}"
    return {
        "id": row.slug,
        "name": row.name,
        "status": row.state,
        "world": row.world,
        "is_public": not row.is_private,
        "created_at": row.created_at.isoformat(),
        "started_at": row.started_at.isoformat() if row.started_at else None,
        "finished_at": row.finished_at.isoformat() if row.finished_at else None,
        "domains": row.n_domains,
        "rejected": row.rejected,
        "n_rejected": row.n_rejected,
        "duplicates": row.n_duplicates,
        "estimated_queries": row.counters["estimated_queries"],
        "counters": row.counters,
        "error": row.error,
        "waits": row.waits,
        "links": {
            "self": base,
            "events": f"{base}/events",
            "report": f"{base}/report.json",
            "tables": f"{base}/tables",
            "package": f"{base}/package",
            "page": f"{root}s/{row.slug}/",
        },
    }


def etag_of(document: dict[str, Any]) -> str:
    """A tag of what is worth asking for again: time that merely passes does not change it."""
    passing = ("elapsed_s", "rate_qps", "eta_s")
    counters = {k: v for k, v in document.get("counters", {}).items() if k not in passing}
    text = json.dumps({**document, "counters": counters}, sort_keys=True, default=str)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'


def tagged(request: HttpRequest, document: dict[str, Any]) -> HttpResponse:
    """The document with its ``ETag``; 304 where the requester has it already."""
    tag = etag_of(document)
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers={"ETag": tag})
    return JsonResponse(document, headers={"ETag": tag})
