"""Rows of a table as HTML.

A page holds a thousand cells, and a template takes a tenth of a millisecond for each; this takes a
tenth of that.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from webapp.pages.ui import formatting
from webapp.pages.ui.table_page import Cell, Row

# A label of a name that a phone still shows in one line, in characters.
LONGEST_LABEL = 24
_NUMERIC = ("count", "share", "muted")
_TRACK = '<rect class="cellbar__track" width="100%" height="100%"/>'


def rows_html(rows: Iterable[Row]) -> SafeString:
    """``tr`` elements; the first cell of each is its head."""
    return mark_safe("".join(_row(row) for row in rows))


@lru_cache(maxsize=256)
def tag_html(provider: str | None) -> SafeString:
    """Provider by hue and letter; the name is read aloud."""
    hue, name = escape(provider or "none"), escape(formatting.provider_name(provider))
    return mark_safe(
        f'<span class="tag tag--{hue}" title="{name}"><span aria-hidden="true">'
        f"{escape(formatting.provider_letter(provider))}</span>"
        f'<span class="visually-hidden">{name} </span></span>'
    )


def name_html(name: str) -> SafeString:
    """A DNS name that breaks after its dots only; a label too long for a phone may break inside."""
    labels = re.split(r"(?<=\.)(?=.)", name)
    return mark_safe(
        "<wbr>".join(
            f'<span class="name-part">{escape(label)}</span>'
            if len(label) <= LONGEST_LABEL
            else str(escape(label))
            for label in labels
        )
    )


def place_html(name: str) -> SafeString:
    """The place of a region beside its code; nothing for an empty name."""
    return mark_safe(f' <span class="region-place">{escape(name)}</span>' if name else "")


def percent(value: float | None) -> str:
    """A fraction as an SVG length."""
    return f"{min(1.0, max(0.0, value or 0)) * 100:.3f}%"


def _row(row: Row) -> str:
    anchor = f' id="{escape(row.anchor)}"' if row.anchor else ""
    return f"<tr{anchor}>{''.join(_cell(c, at == 0) for at, c in enumerate(row.cells))}</tr>"


def _cell(cell: Cell, is_head: bool) -> str:
    kind = escape(cell.kind) + (" spare" if cell.is_spare else "")
    number = "num " if not is_head and cell.kind.split(" ")[0] in _NUMERIC else ""
    start = f'<th scope="row" class="{kind}"' if is_head else f'<td class="{number}{kind}"'
    tags = "" if cell.is_label else _tags(cell)
    sub = f'<small class="under">{escape(cell.sub)}</small>' if cell.sub else ""
    end = "th" if is_head else "td"
    return f'{start} data-value="{escape(cell.value)}">{tags}{_inner(cell)}{sub}</{end}>'


def _tags(cell: Cell) -> str:
    return "".join(tag_html(provider) for provider in cell.tags)


def _inner(cell: Cell) -> str:
    text = escape(cell.text)
    if cell.is_label:
        link = f'<a class="label-link" href="{escape(cell.href)}" data-evidence>'
        mono = ' class="mono"' if cell.kind == "code" else ""
        return f"{link}{_tags(cell)}<span{mono}>{text}</span></a>"
    if cell.kind == "region":
        link, key = escape(cell.href), escape(cell.key)
        return f'<a class="mono" href="{link}" data-region="{key}">{text}</a>'
    if cell.kind == "mono":
        text = name_html(cell.text)
    if cell.href:
        return f'<a class="mono" href="{escape(cell.href)}">{text}</a>'
    if cell.kind == "share":
        return f'<span class="sharebar"><span>{text}</span>{_bar(cell)}</span>'
    return f'<span class="mono">{text}</span>' if cell.kind == "code" else text


def _bar(cell: Cell) -> str:
    mark = ""
    if cell.mark is not None:
        x = percent(cell.mark)
        mark = f'<rect class="cellbar__mark" x="{x}" y="0" width="2" height="100%"/>'
    fill = f'<rect class="cellbar__fill" width="{percent(cell.bar)}" height="100%"/>'
    unknown = " cellbar--unknown" if cell.bar is None else ""
    return f'<svg class="cellbar{unknown}" aria-hidden="true">{_TRACK}{fill}{mark}</svg>'
