"""Tags: rows of the list of domains and of a domain's names.

As in ``webapp.pages.ui.html_rows``: a page has up to a hundred rows, which a template draws in
several milliseconds.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from webapp.pages.ui import formatting
from webapp.pages.ui.html_rows import name_html, place_html, tag_html
from webapp.pages.ui.links import path_to, paths_below
from webapp.store.ranges.region_places import place_name

register = template.Library()
Row = Mapping[str, Any]
_CLASSES = {"region": "mono", "zone": "mono", "provider": "provider-word"}
_NO_ADDRESS = '<span class="note">no address</span>'
_NO_CLOUD = '<span class="note">none</span>'
_TRANSFERS = {"OK": " allowed", "SKIPPED": ' <span class="note">not tried</span>'}


@register.simple_tag
def listed_domains(slug: str, rows: Iterable[Row]) -> SafeString:
    """``tr`` elements of domains with rank, providers, names, transfer and wildcard."""
    path = paths_below("domain", slug)
    return mark_safe(" ".join(_listed(row, path(row["domain"])) for row in rows))


def _listed(row: Row, href: str) -> str:
    domain, providers, transfer = row["domain"], row["providers"], row["transfer"]
    native = formatting.unicode_name(domain)
    note = f' <bdi class="note">{escape(native)}</bdi>' if native else ""
    tags = "".join(map(tag_html, providers)) or _NO_CLOUD
    answer = _TRANSFERS.get(transfer) or f' <span class="note">{_reason(transfer)}</span>'
    wildcard = " · wildcard" if row["wildcard"] else ""
    return (
        f'<tr> <th scope="row" class="mono" data-value="{escape(domain)}">'
        f' <a class="mono breaks" href="{escape(href)}">{name_html(domain)}</a>{note} </th>'
        f"{_count(row['rank'], 'num spare')}"
        f' <td class="nowrap" data-value="{escape(" ".join(providers))}"> {tags} </td>'
        f"{_count(row['found'], 'num spare')}{_count(row['cloud'], 'num')}"
        f' <td class="spare" data-value="{escape(transfer)}">{answer}{wildcard} </td> </tr>'
    )


def _reason(status: str) -> SafeString:
    return escape(formatting.reason(status))


def _count(value: int, kind: str) -> str:
    return f' <td class="{kind}" data-value="{value}">{formatting.count(value)}</td>'


@register.simple_tag
def names_of_domain(slug: str, rows: Iterable[Row], *, zoned: bool) -> SafeString:
    """``tr`` elements of names with the labels that lead to their evidence."""
    name, proof = paths_below("name", slug), paths_below("proof", slug)
    return mark_safe(
        " ".join(_named(row, name(row["name"]), proof(row["name"]), zoned) for row in rows)
    )


def _named(row: Row, href: str, proof: str, zoned: bool) -> str:
    name = row["name"]
    labels = {"pattern": "", "region": "", "zone": ""}
    for kind, provider, value in row["keys"]:
        labels[kind] += label_html(proof, name, kind, provider, value, bare=row["is_single"])
    clouds = "".join(label_html(proof, name, "provider", p) for p in row["providers"])
    missing = _NO_CLOUD if row["addresses"] else _NO_ADDRESS
    return (
        f'<tr> <th scope="row" class="mono" data-value="{escape(name)}">'
        f' <a class="mono breaks" href="{escape(href)}">{name_html(name)}</a> </th>'
        f" <td> {clouds or missing} </td>"
        f' <td class="spare"> {labels["pattern"]} </td> <td> {labels["region"]} </td>'
        f"{_zones(labels['zone']) if zoned else ''}{_count(row['addresses'], 'num spare')}"
        f' <td class="spare">{escape(formatting.technique(row["technique"]))}</td> </tr>'
    )


def _zones(labels: str) -> str:
    return f' <td class="spare"> {labels} </td>'


@register.simple_tag
def proof_link(slug: str, name: str, kind: str, provider: str, value: str = "") -> SafeString:
    """A label of a name that leads to its evidence."""
    return mark_safe(label_html(path_to("proof", slug, name), name, kind, provider, value))


def label_html(
    path: str, name: str, kind: str, provider: str, value: str = "", *, bare: bool = False
) -> str:
    """A label of a name that leads to its evidence; ``bare`` where the provider is next to it."""
    query = urlencode({"kind": kind, "provider": provider, "value": value})
    shown = formatting.provider_name(provider) if kind == "provider" else value
    text = formatting.feature(value) if kind == "pattern" else shown
    place = place_html(place_name(value, provider)) if kind == "region" else ""
    return (
        f'<a class="label-link" href="{escape(f"{path}?{query}")}" data-evidence>'
        f'{"" if bare else tag_html(provider)}<span class="{_CLASSES.get(kind, "")}">'
        f'{escape(text)}</span>{place}<span class="visually-hidden">: evidence on {escape(name)}'
        "</span></a>"
    )
