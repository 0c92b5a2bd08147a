"""Rows of a pool's table as HTML; a live page renders hundreds every second.

A template takes ten times as long for each cell.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from webapp.pages.screening import formatting as words
from webapp.pages.screening.headlines import is_contradicted
from webapp.pages.screening.pool_access import PoolAccess
from webapp.pages.ui.formatting import NONE, age, count
from webapp.pages.ui.html_rows import name_html
from webapp.store.screening.selectors import InstanceRow

Figures = Mapping[int, Mapping[str, Any]]


def rows_html(
    access: PoolAccess, rows: Sequence[InstanceRow], worst: Figures, duplicates: Collection[str]
) -> SafeString:
    """``tr`` elements, one per machine."""
    now = timezone.now()
    base = access.href("instance", pk=0).removesuffix("0/")
    made = (
        _row(row, worst.get(row.id, {}), f"{base}{row.id}/", now, row.name in duplicates)
        for row in rows
    )
    return mark_safe("".join(made))


def verdict_html(verdict: str, sure: bool = True) -> str:
    """Return a verdict as sign and word, with a note where it is uncertain."""
    doubt = "" if sure or verdict == "not-enough" else "<small>not sure</small>"
    kind = escape(verdict)
    return (
        f'<span class="verdict verdict--{kind}"><span class="verdict__sign" aria-hidden="true">'
        f"{words.verdict_sign(verdict)}</span>{escape(words.verdict_word(verdict))}{doubt}</span>"
    )


def _row(
    row: InstanceRow, worst: Mapping[str, Any], href: str, now: datetime, is_twin: bool
) -> str:
    cells = (
        _cell("", row.verdict, _verdict_text(row)),
        _number(row.per_100s, words.rate(row.per_100s)),
        _number(row.rate_high, _interval_text(row), "num spare"),
        _number(row.p999_ms, words.ms(row.p999_ms), "num spare"),
        _number(worst.get("max_us"), _duration_text(worst.get("max_us")), "num spare"),
        _number(worst.get("steal_ms"), _steal_text(worst), "num spare"),
        _cell("spare", row.cause, words.cause_word(row.cause) if row.verdict else NONE),
        _cell("spare", row.truth, _truth_text(row)),
        _number(row.n_reports, count(row.n_reports), "num spare"),
        _age_text(row.last_seen_at, now),
    )
    return f"<tr>{_head(row, href, is_twin)}{''.join(cells)}</tr>"


def _head(row: InstanceRow, href: str, is_twin: bool) -> str:
    name = escape(row.name)
    more = f' <small class="mono">{escape(row.machine[:6]) or NONE}</small>' if is_twin else ""
    if row.label:
        more += f' <span class="badge">yours: {escape(row.label)}</span>'
    return (
        f'<th scope="row" data-value="{name}"><a class="instance-name" href="{href}">'
        f"<bdi>{name_html(row.name)}</bdi></a>{more}</th>"
    )


def _cell(kind: str, value: Any, inner: str) -> str:
    return f'<td class="{kind}" data-value="{escape(value)}">{inner}</td>'


def _number(value: Any, text: str, kind: str = "num") -> str:
    return _cell(kind, -1 if value is None else value, text)


def _verdict_text(row: InstanceRow) -> str:
    if row.verdict:
        return verdict_html(row.verdict, row.sure)
    return '<span class="note">no sleeps measured</span>'


def _interval_text(row: InstanceRow) -> str:
    if row.rate_high is None:
        return NONE
    return f"{words.rate(row.rate_low)} to {words.rate(row.rate_high)}"


def _duration_text(value: float | None) -> str:
    return NONE if value is None else words.ms(value / 1000)


def _steal_text(worst: Mapping[str, Any]) -> str:
    if not worst.get("seconds"):
        return NONE
    return words.points(worst.get("steal_ms", 0.0) / 1000 / worst["seconds"])


def _truth_text(row: InstanceRow) -> str:
    if not row.truth:
        return '<span class="note">not tested</span>'
    odd = ", contradicts the sleeps" if is_contradicted(row) else ""
    tail = f'<small class="range">p99.9 {words.ms(row.truth_p999_ms)}{odd}</small>'
    return verdict_html(row.truth, row.truth_sure) + tail


def _age_text(at: datetime | None, now: datetime) -> str:
    moment = at.isoformat() if at else ""
    return (
        f'<td class="nowrap spare" data-value="{moment}"><time datetime="{moment}">{age(at, now)}'
        "</time></td>"
    )
