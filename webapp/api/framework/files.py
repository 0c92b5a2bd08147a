"""Tables as downloads in all export formats."""

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpResponse
from django.utils.http import content_disposition_header

from tasks.surveys import export

FORMATS = ("json", "csv", "jsonl", "parquet")


def download(name: str, kind: str, data: str | bytes) -> HttpResponse:
    """Return a response with ``Content-Disposition: attachment`` (RFC 6266).

    Control characters of the name are replaced, since the server cannot send them in a header.
    """
    answer = HttpResponse(data, content_type=kind)
    plain = "".join(sign if sign.isprintable() else "-" for sign in name)
    answer["Content-Disposition"] = content_disposition_header(True, plain)
    return answer


def table_file(
    name: str, kind: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> HttpResponse:
    """Return rows as ``csv``, ``jsonl`` or ``parquet``; raise ``Http404`` for other formats."""
    if kind == "csv":
        return download(f"{name}.csv", "text/csv", export.table_csv(columns, rows))
    if kind == "jsonl":
        lines = export.table_lines(columns, rows)
        return download(f"{name}.jsonl", "application/jsonl", lines)
    if kind == "parquet":
        data = export.table_parquet(columns, rows)
        return download(f"{name}.parquet", "application/vnd.apache.parquet", data)
    raise Http404(f"{kind!r} is not a format; use {', '.join(FORMATS)}")
